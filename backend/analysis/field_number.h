// Numbers of the answers of StoreReader::query(), whose values are text.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>

namespace spscope {

using FieldText = std::optional<std::string>;

// 0 for NULL.
template <typename Number = std::int64_t>
Number number_of(const FieldText& value) {
  Number number = 0;
  if (value) std::from_chars(value->data(), value->data() + value->size(), number);
  return number;
}

}  // namespace spscope
