// What to do about a call on files or on mappings of memory that failed because of a limit.
#pragma once

#include <string>

namespace spscope {

// "raise the limit of open files (ulimit -n)" for EMFILE, and likewise for other limits; `otherwise` for what is none.
// EAGAIN is one of mmap(2): calls on files are made again.
std::string remedy_of(int error, const std::string& otherwise = "");

}  // namespace spscope
