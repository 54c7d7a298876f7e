// The header of the .npy format (numpy's format description, versions 1.0 to 3.0): a magic string, two version bytes,
// the length of the header, and the header: the text of a Python dictionary with descr, fortran_order and shape.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/mask/array_file.h"

namespace spscope {

struct NpyHeader {
  ElementType type = ElementType::kU8;
  std::vector<std::int64_t> shape;
};

// Parses the dictionary text. Throws the errors that array_file.h lists; `place` is for messages.
NpyHeader parse_npy_dictionary(std::string_view text, const std::string& place);
// Everything before the data, padded to a multiple of 64 bytes. REQUIRES: type is not kBf16.
std::string npy_preamble(ElementType type, std::span<const std::int64_t> shape);

}  // namespace spscope
