// check(): turns the return code of an MPI call into an Error that names the call's place. Communicators of this
// folder return errors instead of ending the process.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <source_location>

namespace spscope::mpi {

void check(int code, const std::source_location& where = std::source_location::current());

// A size as MPI counts it. Throws Error when one message cannot be so large.
int message_count(std::size_t num_bytes);

}  // namespace spscope::mpi
