// Masks as lists: the key blocks that each query block attends to, as sparse kernels take them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/mask/array_file.h"

namespace spscope {

// One array of lists. What it holds outside of them has no meaning.
struct KeyLists {
  const Array* entries = nullptr;
  std::vector<std::int64_t> begin, count;  // of each row: its list is entries[begin] to entries[begin + count - 1]
};

struct ListedMask {
  std::vector<std::int64_t> rows = {};  // [..., heads, q blocks]
  std::vector<KeyLists> parts = {};     // a row attends to the key blocks that any part lists
  // Whether an entry is the distance from the key block before it, the first one from block 0, as in SpargeAttention's
  // `lut`; nullopt: whichever is possible.
  std::optional<bool> delta = {};
  std::int64_t slots = 0;  // of each row, where the lists are a table [..., slots]; else 0
};

// uint8 of the shape rows + [key_blocks]. Of distances all but the first are at least 1. Throws Error kMaskDtype,
// kMaskTooLarge (over `max_bytes`), and kMaskValue with a row when it lists a key block twice or one that is not below
// `key_blocks`, or, without `delta`, when the lists can be both or neither. `hint` says how to give the number of key
// blocks. REQUIRES: the lists lie inside of their arrays.
Array bits_of_lists(const ListedMask& lists, std::int64_t key_blocks, const std::string& path, const std::string& hint,
                    std::int64_t max_bytes);

}  // namespace spscope
