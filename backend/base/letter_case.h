// Texts that are compared whatever the case of their letters.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

namespace spscope {

// ASCII letters alone: others stay as they are.
inline std::string lower_case(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

}  // namespace spscope
