// Sound array files, and what a program does with one.
#pragma once

#include <string>

#include "backend/base/error.h"
#include "backend/mask/array_file.h"
#include "backend/mask/mask_import.h"
#include "tests/unit/mask/array_files.h"

namespace spscope::fuzz {

// [2 heads, 3 x 3 blocks] of 0 and 1.
inline std::string mask_values() { return std::string("\1\0\0\1\1\0\1\1\1\1\1\1\1\0\1\0\1\1", 18); }
inline std::string mask_npy() { return testing_files::npy_of("|b1", "(2, 3, 3)", mask_values()); }
inline std::string starts_values() {
  std::string text;
  for (const std::uint64_t start : {0, 16, 32, 40}) text += testing_files::little_endian(start, 4);
  return text;
}
inline std::string starts_npy() { return testing_files::npy_of("<i4", "(4,)", starts_values()); }

// Arrays of at most 16 MiB. The bytes of a mask are taken as the mask, those of floats as activations.
inline void read_array_file(const std::string& path) {
  for (const Array& array : read_arrays(path, {.max_bytes = 16 << 20})) {
    if (array.type >= ElementType::kF16)
      to_floats(array, path);
    else
      to_integers(array, path);
  }
}

inline void read_mask_file(const std::string& path) {
  const MaskFile file(path);
  for (int layer = 0; layer < std::min(file.layers(), 3); ++layer)
    if (!file.block_starts().empty()) file.mask(0, layer, file.block_starts());
}

// Whatever the first reading says, the second is made too.
inline void read_both_ways(const std::string& path) {
  try {
    read_mask_file(path);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kInternal) throw;
  }
  read_array_file(path);
}

}  // namespace spscope::fuzz
