// The colours of ranks, of the page and of the desktop app.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace spscope {

// Eight colours that people with colour-vision deficiencies tell apart (Okabe and Ito 2008; grey in place of their
// black), always beside the number of the rank itself. As 0xRRGGBB.
inline constexpr std::array<std::uint32_t, 8> kRankColors = {0xe69f00, 0x56b4e9, 0x009e73, 0xf0e442,
                                                             0x0072b2, 0xd55e00, 0xcc79a7, 0x999999};

// Which of them a rank has: the sum of its octal digits modulo 8. The ranks of one head are often 8 or 64 apart (USP,
// whose ring goes over them), and with the number itself modulo 8 all of these would look the same.
constexpr std::size_t rank_color_index(std::int32_t rank) {
  std::size_t sum = 0;
  for (auto rest = static_cast<std::uint32_t>(rank); rest != 0; rest /= 8) sum += rest % 8;
  return sum % kRankColors.size();
}

}  // namespace spscope
