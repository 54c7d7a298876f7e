#include "backend/base/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "backend/base/check.h"
#include "backend/base/printable.h"

namespace spscope {

// To and from the library's values.
struct JsonText {
  using Library = nlohmann::ordered_json;
  using Members = Library::object_t::Container;

  static Library to_library(const Json& json) {
    switch (json.kind_) {
      case Json::Kind::kNull:
        return nullptr;
      case Json::Kind::kBool:
        return json.integer_ != 0;
      case Json::Kind::kSigned:
        return static_cast<std::int64_t>(json.integer_);
      case Json::Kind::kUnsigned:
        return json.integer_;
      case Json::Kind::kReal:
        return json.real_;
      case Json::Kind::kText:
        return json.text_;
      case Json::Kind::kArray:
      case Json::Kind::kObject:
        break;
    }
    const bool is_object = json.kind_ == Json::Kind::kObject;
    Library library = is_object ? Library::object() : Library::array();
    // Keys differ, so they are appended without looking for them.
    for (std::size_t i = 0; i < json.items_.size(); ++i)
      if (is_object)
        static_cast<Members&>(library.get_ref<Library::object_t&>())
            .emplace_back(json.keys_[i], to_library(json.items_[i]));
      else
        library.push_back(to_library(json.items_[i]));
    return library;
  }
};

// Builds the value from what the library's parser reports. A function returns whether parsing goes on.
class JsonReader {
 public:
  std::optional<Json> read(std::string_view text) {
    if (!JsonText::Library::sax_parse(text, this)) return std::nullopt;
    return std::move(value_);
  }

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(std::int64_t value) { return add(value); }
  bool number_unsigned(std::uint64_t value) { return add(value); }
  bool number_float(double value, const std::string&) { return add(value); }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(JsonText::Library::binary_t&) { return false; }
  bool start_object(std::size_t) { return open(Json::object()); }
  bool start_array(std::size_t) { return open(Json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    open_.back()->keys_.push_back(std::move(name));
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) { return false; }

 private:
  bool add(Json value) {
    if (open_.empty())
      value_ = std::move(value);
    else
      open_.back()->items_.push_back(std::move(value));
    return true;
  }
  bool open(Json container) {
    if (open_.size() == Json::kMaxDepth) return false;
    add(std::move(container));
    open_.push_back(open_.empty() ? &value_ : &open_.back()->items_.back());
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  Json value_;
  std::vector<Json*> open_;  // the containers around the next value, outermost first; none grows while it is in here
};

Json::Json(std::initializer_list<Json> elements) {
  const bool is_object = std::ranges::all_of(elements, [](const Json& element) {
    return element.kind_ == Kind::kArray && element.items_.size() == 2 && element.items_[0].is_text();
  });
  if (!is_object) {
    *this = array(elements);
    return;
  }
  kind_ = Kind::kObject;
  for (const Json& pair : elements) (*this)[pair.items_[0].text_] = pair.items_[1];
}

Json Json::array(std::initializer_list<Json> elements) {
  Json json;
  json.kind_ = Kind::kArray;
  json.items_ = elements;
  return json;
}

Json Json::object() {
  Json json;
  json.kind_ = Kind::kObject;
  return json;
}

std::optional<Json> Json::parse(std::string_view text) { return JsonReader().read(text); }

const Json* Json::find(std::string_view key) const {
  const auto found = std::ranges::find(keys_, key);
  return found == keys_.end() ? nullptr : &items_[static_cast<std::size_t>(found - keys_.begin())];
}

Json& Json::operator[](std::string_view key) {
  if (is_null()) kind_ = Kind::kObject;
  SPSCOPE_CHECK(kind_ == Kind::kObject);
  if (const Json* found = find(key)) return const_cast<Json&>(*found);
  keys_.emplace_back(key);
  return items_.emplace_back();
}

const Json& Json::operator[](std::string_view key) const {
  const Json* found = find(key);
  SPSCOPE_CHECK(found != nullptr);
  return *found;
}

void Json::push_back(Json element) {
  if (is_null()) kind_ = Kind::kArray;
  SPSCOPE_CHECK(kind_ == Kind::kArray);
  items_.push_back(std::move(element));
}

double Json::number() const {
  if (kind_ == Kind::kReal) return real_;
  return kind_ == Kind::kSigned ? static_cast<double>(static_cast<std::int64_t>(integer_))
                                : static_cast<double>(integer_);
}

std::optional<std::int64_t> Json::integer(std::int64_t least, std::int64_t most) const {
  const auto value = static_cast<std::int64_t>(integer_);
  const bool fits = kind_ == Kind::kSigned || (kind_ == Kind::kUnsigned && value >= 0);
  if (!fits || value < least || value > most) return std::nullopt;
  return value;
}

std::string Json::text_or(std::string_view key, std::string_view fallback) const {
  const Json* found = find(key);
  return found != nullptr ? found->text_ : std::string(fallback);
}

Json Json::sorted() const {
  Json json = *this;
  if (kind_ == Kind::kObject) {
    std::vector<std::size_t> order(items_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [this](std::size_t i) -> const std::string& { return keys_[i]; });
    for (std::size_t i = 0; i < order.size(); ++i) {
      json.keys_[i] = keys_[order[i]];
      json.items_[i] = items_[order[i]];
    }
  }
  for (Json& item : json.items_) item = item.sorted();
  return json;
}

std::string Json::dump(int indent) const {
  const std::string text =
      JsonText::to_library(*this).dump(indent, ' ', false, JsonText::Library::error_handler_t::replace);
  std::string escaped;
  std::size_t done = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t bytes = text[i] == '\n' ? 0 : unprintable_bytes(std::string_view(text).substr(i));
    if (bytes == 0) continue;
    char32_t c = static_cast<unsigned char>(text[i]) & (bytes == 1 ? 0x7fu : bytes == 2 ? 0x1fu : 0xfu);
    for (std::size_t k = 1; k < bytes; ++k) c = c << 6 | (static_cast<unsigned char>(text[i + k]) & 0x3fu);
    escaped.append(text, done, i - done) += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    i += bytes - 1;
    done = i + 1;
  }
  return done == 0 ? text : escaped.append(text, done);
}

}  // namespace spscope
