#include "backend/base/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "backend/base/check.h"

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

  static Json from_library(const Library& library) {
    if (library.is_boolean()) return library.get<bool>();
    if (library.is_number_unsigned()) return library.get<std::uint64_t>();
    if (library.is_number_integer()) return library.get<std::int64_t>();
    if (library.is_number()) return library.get<double>();
    if (library.is_string()) return library.get<std::string>();
    Json json = library.is_array() ? Json::array() : library.is_object() ? Json::object() : Json();
    for (const auto& [key, value] : library.items()) {
      if (library.is_object()) json.keys_.push_back(key);
      json.items_.push_back(from_library(value));
    }
    return json;
  }
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

std::optional<Json> Json::parse(std::string_view text) {
  const JsonText::Library library = JsonText::Library::parse(text, nullptr, false);
  if (library.is_discarded()) return std::nullopt;
  return JsonText::from_library(library);
}

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
  return JsonText::to_library(*this).dump(indent, ' ', false, JsonText::Library::error_handler_t::replace);
}

}  // namespace spscope
