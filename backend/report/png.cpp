#include "backend/report/png.h"

#include <png.h>

#include "backend/base/error.h"

namespace spscope {

std::string png_of(int width, int height, std::span<const std::uint8_t> pixels,
                   std::span<const std::uint32_t> palette) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  // 0xRRGGBBAA in little-endian order.
  image.format = palette.empty() ? PNG_FORMAT_RGBA : PNG_FORMAT_ABGR_COLORMAP;
  image.colormap_entries = static_cast<png_uint_32>(palette.size());
  png_alloc_size_t bytes = 0;
  std::string png;
  bool done = png_image_write_get_memory_size(image, bytes, 0, pixels.data(), 0, palette.data()) != 0;
  if (done) {
    png.resize(bytes);
    done = png_image_write_to_memory(&image, png.data(), &bytes, 0, pixels.data(), 0, palette.data()) != 0;
  }
  if (!done) throw Error(ErrorCode::kInternal, "the picture cannot be written as PNG: " + std::string(image.message));
  png.resize(bytes);
  return png;
}

}  // namespace spscope
