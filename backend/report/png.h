// Pictures as PNG, written by libpng.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace spscope {

// The bytes of a PNG of width x height pixels, row by row from the top. Without a palette a pixel is four bytes: red,
// green, blue, alpha. With one a pixel is an index into it, and a colour is 0xRRGGBBAA; 16 colours take four bits a
// pixel. Throws Error (kInternal) when libpng fails. REQUIRES: as many pixels as that, and at most 256 colours.
std::string png_of(int width, int height, std::span<const std::uint8_t> pixels,
                   std::span<const std::uint32_t> palette = {});

}  // namespace spscope
