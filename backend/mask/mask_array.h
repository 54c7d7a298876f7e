// Checks that an array of a file is a mask; the errors name the line of numpy that converts it.
#pragma once

#include <string>

#include "backend/mask/array_file.h"

namespace spscope {

// Throws Error kMaskDtype or kMaskValue unless every element is 0 or 1 of bool or an integer type.
void require_bits(const Array& array, const std::string& path);

}  // namespace spscope
