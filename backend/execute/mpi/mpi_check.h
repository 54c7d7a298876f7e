// check(): turns the return code of an MPI call into an Error that names the call's place. Communicators of this
// folder return errors instead of ending the process.
#pragma once

#include <mpi.h>

#include <cstddef>

namespace spscope::mpi {

// `file` and `line` are those of the caller; clang 14 lacks std::source_location.
void check(int code, const char* file = __builtin_FILE(), int line = __builtin_LINE());

// A size as MPI counts it. Throws Error when one message cannot be so large.
int message_count(std::size_t num_bytes);

}  // namespace spscope::mpi
