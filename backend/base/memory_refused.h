// Whether this process was refused memory, and what is told then. Code that goes on after an error, such as the
// recovery of damaged files, must not take want of memory for damage.
#pragma once

#include <cstdint>
#include <string>

#include "backend/base/error.h"

namespace spscope {

// From here on an allocation that fails is noted before std::bad_alloc is thrown.
void note_refused_memory();
// A library of C was refused memory, and its caller is about to throw std::bad_alloc.
void memory_refused();
// Whether that has happened, once and for all.
bool memory_was_refused();

// What is told of a file that does not fit, with a limit to try next: "cannot read "a.db": it needs 7.629 MiB at once,
// more than the 2 MiB that --max-memory allows". `largest_bytes`: the largest piece that was asked for; 0: not known.
Error beyond_max_memory(const std::string& what_failed, std::int64_t limit_bytes, std::int64_t largest_bytes);

}  // namespace spscope
