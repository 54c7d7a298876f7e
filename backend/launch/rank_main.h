// The main of a rank's process: what the processes of a run do together, over however many hosts they are. Either
// `spscope run` started them with mpirun (launch_ranks.h), or mpirun or srun did, and rank 0 makes OUT.
#pragma once

#include <string>

#include "backend/launch/run_end.h"

namespace spscope {

// `collection`: the note of the run in progress that this process is part of, when `spscope run` started it; else "".
// The exit code of this process; only that of rank 0 says how the run ended. Throws Error at rank 0.
int rank_main(const RunSetup& setup, const std::string& collection, RunListener& listener);

}  // namespace spscope
