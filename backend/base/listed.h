// Lists as sentences have them.
#pragma once

#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>

namespace spscope {

// "0", "0 and 2", "0, 2 and 3"; "" of none. Of texts or whole numbers. `before_last`: "or".
template <typename Items>
std::string listed(const Items& items, std::string_view before_last = "and") {
  std::string text;
  auto left = std::size(items);
  for (const auto& item : items) {
    if (left < std::size(items)) text += left > 1 ? ", " : " " + std::string(before_last) + " ";
    if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(item)>>)
      text += std::to_string(item);
    else
      text += item;
    --left;
  }
  return text;
}

}  // namespace spscope
