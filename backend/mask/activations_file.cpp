#include "backend/mask/activations_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "backend/base/check.h"
#include "backend/base/error.h"
#include "backend/mask/array_parts.h"

namespace spscope {
namespace {

// The array of this name. REQUIRES: it is there.
const Array& named(const std::vector<Array>& arrays, std::string_view name) {
  const auto found = std::find_if(arrays.begin(), arrays.end(), [&](const Array& array) { return array.name == name; });
  SPSCOPE_CHECK(found != arrays.end());
  return *found;
}

std::span<const std::int64_t> without_batch(const Array& array) {
  const std::span<const std::int64_t> shape = array.shape;
  return shape.size() == 4 && shape[0] == 1 ? shape.subspan(1) : shape;
}

}  // namespace

Activations read_activations(const std::string& path) {
  const std::vector<Array> arrays = read_arrays(path, {.only = {"q", "k", "v"}});
  if (arrays.size() != 3) {
    throw Error(ErrorCode::kMaskFormat, fmt::format("{} holds one array, q, k and v are needed", place_of(path)),
                "save them together as .npz or .safetensors");
  }
  const std::span<const std::int64_t> shape = without_batch(named(arrays, "q"));
  for (const Array& array : arrays) {
    const std::span<const std::int64_t> own = without_batch(array);
    const bool fits = own.size() == 3 && std::all_of(own.begin(), own.end(), [](std::int64_t extent) {
                        return extent >= 1 && extent <= INT32_MAX;
                      });
    if (!fits || !std::equal(own.begin(), own.end(), shape.begin(), shape.end())) {
      throw Error(ErrorCode::kMaskShape,
                  fmt::format("{} has the shape {}", place_of(path, array.name), shape_text(array.shape)),
                  "q, k and v have one shape, [heads, tokens, head_dim]");
    }
  }
  Activations result{.heads = static_cast<int>(shape[0]),
                     .tokens = static_cast<int>(shape[1]),
                     .head_dim = static_cast<int>(shape[2]),
                     .q = to_floats(named(arrays, "q"), path),
                     .k = to_floats(named(arrays, "k"), path),
                     .v = to_floats(named(arrays, "v"), path)};
  return result;
}

}  // namespace spscope
