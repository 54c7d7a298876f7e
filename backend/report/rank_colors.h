// The colours of ranks, of the page and of the desktop app.
#pragma once

#include <array>
#include <cstdint>

namespace spscope {

// Eight colours that people with colour-vision deficiencies tell apart (Okabe and Ito 2008; grey in place of their
// black), for ranks by their number modulo 8, always beside the number itself. As 0xRRGGBB.
inline constexpr std::array<std::uint32_t, 8> kRankColors = {0xe69f00, 0x56b4e9, 0x009e73, 0xf0e442,
                                                             0x0072b2, 0xd55e00, 0xcc79a7, 0x999999};

}  // namespace spscope
