#pragma once

#include <string>

namespace spscope {

// Makes the folder too.
void write_file(const std::string& path, const std::string& text);

}  // namespace spscope
