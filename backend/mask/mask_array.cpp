#include "backend/mask/mask_array.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "backend/base/error.h"
#include "backend/mask/array_parts.h"

namespace spscope {
namespace {

bool is_float(ElementType type) { return type >= ElementType::kF16; }

// A mask that is added to scores: 0 where a query attends, -inf (or so large a negative number) where it does not.
bool is_additive(const Array& array, const std::string& path) {
  if (!is_float(array.type)) return false;
  constexpr double kAsGoodAsInfinite = -1e4;  // what half precision masks use
  bool masks_something = false;
  for (std::int64_t i = 0; i < array.num_elements(); ++i) {
    const double value = float_of(array, i, path);
    if (value != 0 && !(value <= kAsGoodAsInfinite)) return false;
    masks_something = masks_something || value != 0;
  }
  return masks_something;
}

// Integers of many sizes: lists of key blocks are saved so. Masks have few: 255, or 1 and 2 for partial and full
// blocks.
bool holds_numbers(const Array& array, const std::string& path) {
  if (is_float(array.type)) return false;
  constexpr std::size_t kMostOfAMask = 2;
  std::set<std::int64_t> sizes;
  for (std::int64_t i = 0; i < array.num_elements() && sizes.size() <= kMostOfAMask; ++i)
    if (const std::int64_t value = integer_of(array, i, path); value != 0) sizes.insert(value);
  return sizes.size() > kMostOfAMask;
}

std::string advice(const Array& array, const std::string& path) {
  if (holds_numbers(array, path))
    return "lists of key blocks, as SpargeAttention's lut, are read with --as lut (mask.as in a config); of scores or "
           "counts, save a comparison with the threshold that you mean";
  return is_additive(array, path) ? "it looks like a mask that is added to scores: save (mask == 0).astype(np.uint8)"
                                  : "save (mask > 0).astype(np.uint8), or compare with the threshold that you mean";
}

}  // namespace

void require_bits(const Array& array, const std::string& path) {
  const std::string place = place_of(path, array.name);
  if (is_float(array.type)) {
    throw Error(ErrorCode::kMaskDtype,
                fmt::format("{} has the type {}, a mask has bool or an integer type", place, element_name(array.type)),
                advice(array, path));
  }
  // Little-endian 0 or 1: the first byte is 0 or 1, the others of an element are 0.
  const int width = element_bytes(array.type);
  for (std::size_t i = 0; i < array.bytes.size(); ++i) {
    if (std::to_integer<unsigned>(array.bytes[i]) <= (i % width == 0 ? 1U : 0U)) continue;
    throw Error(ErrorCode::kMaskValue, fmt::format("{} has a value other than 0 and 1 at element {}", place, i / width),
                advice(array, path));
  }
}

}  // namespace spscope
