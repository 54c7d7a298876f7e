// Records that an allocation failed, and makes the error for it. Code that continues after an error, such as the
// recovery of damaged files, must not mistake a failed allocation for damage.
#pragma once

#include <cstdint>
#include <string>

#include "backend/base/error.h"

namespace spscope {

// Installs a new-handler that records each failed allocation before std::bad_alloc is thrown.
void note_refused_memory();
// Records a failed allocation of a C library; its caller is about to throw std::bad_alloc.
void memory_refused();
// Whether any allocation has failed in this process; never reset.
bool memory_was_refused();

// The error for a file that exceeds the limit, with a limit to try next: "cannot read "a.db": it needs 7.629 MiB at
// once, more than the 2 MiB that --max-memory allows". `largest_bytes`: the largest allocation that was requested; 0:
// unknown.
Error beyond_max_memory(const std::string& what_failed, std::int64_t limit_bytes, std::int64_t largest_bytes);

}  // namespace spscope
