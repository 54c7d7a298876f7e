// What to do about a system call that failed because of a limit.
#pragma once

#include <string>

namespace spscope {

// "raise the limit of open files (ulimit -n)" for EMFILE, and likewise for other limits; `otherwise` for what is none.
std::string remedy_of(int error, const std::string& otherwise = "");

}  // namespace spscope
