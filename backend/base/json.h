// Json: a value that is built, read and printed. json.cpp reads and writes the text with nlohmann/json, whose header
// takes five seconds to compile in each file that includes it (docs/decisions/0010-build-time.md).
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace spscope {

class Json {
 public:
  Json() = default;  // null
  Json(std::nullptr_t) {}
  Json(std::same_as<bool> auto value) : kind_(Kind::kBool), integer_(value) {}
  template <std::integral Number>
  requires(!std::same_as<Number, bool>) Json(Number value)
      : kind_(std::is_signed_v<Number> ? Kind::kSigned : Kind::kUnsigned),
        integer_(static_cast<std::uint64_t>(value)) {}
  Json(std::floating_point auto value) : kind_(Kind::kReal), real_(value) {}
  Json(const char* text) : kind_(Kind::kText), text_(text) {}
  Json(std::string_view text) : kind_(Kind::kText), text_(text) {}
  Json(std::string text) : kind_(Kind::kText), text_(std::move(text)) {}
  // An object when every element is a list of a text and a value, else an array.
  Json(std::initializer_list<Json> elements);
  // An array of the elements; of a map with texts as keys, an object.
  template <typename Range>
  requires(!std::same_as<Range, Json>) && std::ranges::input_range<Range> &&
      (!std::convertible_to<Range, std::string_view>)Json(const Range& range) : kind_(Kind::kArray) {
    if constexpr (requires { typename Range::mapped_type; }) {
      kind_ = Kind::kObject;
      for (const auto& [key, value] : range) (*this)[key] = Json(value);
    } else {
      for (const auto& element : range) items_.push_back(Json(element));
    }
  }
  static Json array(std::initializer_list<Json> elements = {});
  static Json object();
  // The value that a text says; nothing when it is not JSON, or nested more than kMaxDepth deep. Reads text of any
  // origin: the parser does not recurse. Of equal keys of an object the first is found.
  static constexpr std::size_t kMaxDepth = 64;
  static std::optional<Json> parse(std::string_view text);

  bool is_null() const { return kind_ == Kind::kNull; }
  bool is_text() const { return kind_ == Kind::kText; }
  bool is_number() const { return kind_ == Kind::kSigned || kind_ == Kind::kUnsigned || kind_ == Kind::kReal; }
  bool is_array() const { return kind_ == Kind::kArray; }
  bool is_object() const { return kind_ == Kind::kObject; }
  bool contains(std::string_view key) const { return find(key) != nullptr; }
  // The value of a key of an object; null where there is none, or no object.
  const Json* find(std::string_view key) const;
  // Null becomes an object, a new key null. The other two require that the element is there.
  Json& operator[](std::string_view key);
  const Json& operator[](std::string_view key) const;
  const Json& operator[](std::size_t index) const { return items_[index]; }
  // Null becomes an array.
  void push_back(Json element);
  Json& back() { return items_.back(); }
  // The elements of an array or object.
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }

  const std::string& text() const { return text_; }
  double number() const;  // of any kind of number
  // Of a whole number, written without a fraction, from `least` to `most`; nothing for all else.
  std::optional<std::int64_t> integer(std::int64_t least = 0, std::int64_t most = INT64_MAX) const;
  // The text at `key` of an object; `fallback` where there is none.
  std::string text_or(std::string_view key, std::string_view fallback) const;

  // The same with the keys of all objects in alphabetical order.
  Json sorted() const;
  // On one line when `indent` is negative, else with so many blanks a level. Bytes that are not UTF-8 are replaced,
  // and characters that are not printable (printable.h) escaped.
  std::string dump(int indent = -1) const;

 private:
  enum class Kind : std::uint8_t { kNull, kBool, kSigned, kUnsigned, kReal, kText, kArray, kObject };
  friend struct JsonText;
  friend class JsonReader;

  Kind kind_ = Kind::kNull;
  std::uint64_t integer_ = 0;  // kSigned: its bits
  double real_ = 0;
  std::string text_;
  std::vector<Json> items_;
  std::vector<std::string> keys_;  // of an object: one of each item, in the order in which they came
};

}  // namespace spscope
