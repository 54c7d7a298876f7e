// Cividis: the colours of densities, on the page and in the window. It reads the same for people who see no red or no
// green, and from dark to light in print (Nunez, Anderton and Renslow 2018, doi:10.1371/journal.pone.0199239).
#pragma once

#include <array>
#include <cstdint>

namespace spscope {

// 0xRRGGBB at equal steps from 0 to 1.
inline constexpr std::array<std::uint32_t, 15> kCividis = {0x00224e, 0x022f6d, 0x223c6d, 0x38496c, 0x4a556b,
                                                           0x59626e, 0x676f73, 0x757d78, 0x858b79, 0x959976,
                                                           0xa6a772, 0xb8b66a, 0xcbc65e, 0xdfd64d, 0xfee838};

}  // namespace spscope
