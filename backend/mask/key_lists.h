// Look-up tables: masks as lists of the key blocks that each query block attends to, as kernels take them.
//
// `lists` is an integer array [..., heads, q blocks, slots] and `counts` [..., heads, q blocks] the length of each
// list; slots behind it hold anything. There are as many key blocks as slots. SpargeAttention's `lut` and
// `valid_block_num` are such arrays, delta-coded: each entry is the distance from the key block before it, the first
// one from block 0.
#pragma once

#include <optional>
#include <string>

#include "backend/mask/array_file.h"

namespace spscope {

// The mask of the lists, uint8 with the shape of `lists`. `delta`: whether entries are distances; nullopt: whichever is
// possible. Of distances all but the first are at least 1 and no sum reaches the number of key blocks; key blocks of a
// row differ and are below it. Throws Error kMaskDtype, kMaskShape, kMaskTooLarge (over `max_bytes`), and kMaskValue
// with a row when the lists cannot be what was said, or, without `delta`, when they can be both or neither.
Array bits_of_lists(const Array& lists, const Array& counts, std::optional<bool> delta, const std::string& path,
                    std::int64_t max_bytes);

}  // namespace spscope
