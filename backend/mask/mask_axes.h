// What the dimensions of a mask's array are.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "backend/mask/array_file.h"

namespace spscope {

enum class MaskAxis : std::uint8_t { kStep, kLayer, kBatch, kHead, kQ, kK };

struct MaskAxes {
  // By MaskAxis: numbers of entries, and elements from one to the next; 1 and 0 where the array lacks the axis.
  std::array<std::int64_t, 6> extent = {1, 1, 1, 1, 1, 1}, stride = {};
  std::string text = {};  // "layers 2, heads 4, q 8, k 16": those that the array has
  // The axes that the array may have as well, where nobody named them: "batch,heads,q,k", when what was taken for
  // layers or steps may be several samples. "": none.
  std::string with_batch = {};

  std::int64_t of(MaskAxis axis) const { return extent[static_cast<std::size_t>(axis)]; }
  std::int64_t step(MaskAxis axis) const { return stride[static_cast<std::size_t>(axis)]; }
};

// `said`: "batch,heads,q,k", of steps, layers, batch, heads, q and k those that the array has, q and k last; "": [q,
// k], [heads, q, k], [layers, heads, q, k], [steps, layers, heads, q, k], and of a kernel's lists [batch, heads, q, k],
// [layers, batch, heads, q, k]. Throws Error kMaskShape.
MaskAxes mask_axes(const Array& array, const std::string& path, const std::string& said, bool lists);

}  // namespace spscope
