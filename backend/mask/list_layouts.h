// Where a file's lists of key blocks stand: the layouts of kernels, known by the names of their arrays.
//
//   a table      entries [..., heads, q blocks, slots], counts [..., heads, q blocks]
//   flat lists   entries [n], counts [..., heads, q blocks], starts of the same shape or of one number more (a prefix
//   sum) CSR          entries [n] or [..., n], starts [..., heads, q blocks + 1]: where each row begins, and where the
//   last ends
//
// Without the dimension of heads one mask serves all heads. FlexAttention and FlashAttention list key blocks that every
// query of a block attends to in arrays of their own (full_kv_indices, full_block_idx); they are joined.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "backend/mask/key_lists.h"

namespace spscope {

// Names of arrays; "": by the layout.
struct ListNames {
  std::string entries = {}, counts = {}, starts = {};
};

struct FoundLists {
  ListedMask mask;
  std::string words;  // "FlexAttention's lists kv_indices and full_kv_indices"
};

// Whether the array `entries`, or where that is empty any, has the name of a known layout's entries.
bool holds_known_lists(std::span<const Array> arrays, const std::string& entries);
// The attention kernel that takes the lists of that layout, as `spscope list gpus` names it: "flex"; "": several take
// them, or no known one.
std::string_view kernel_of_lists(std::span<const Array> arrays, const std::string& entries);

// The lists of a file, which stay in `arrays`. `delta` of the result is that of the layout. Throws Error kMaskFile when
// an array is missing, kMaskShape and kMaskValue when they do not belong together. `hint` says how names are given.
FoundLists find_lists(std::span<const Array> arrays, const ListNames& names, const std::string& path,
                      const std::string& hint);

}  // namespace spscope
