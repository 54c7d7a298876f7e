// `spscope run` with ranks that are processes. Either it starts them itself, with mpirun, and makes the file when they
// have ended; or mpirun or srun started this process as one of them, and rank 0 makes the file.
#pragma once

#include <atomic>
#include <string>

#include "backend/cli/run_command.h"

namespace spscope {

// Starts as many processes as the job has ranks, watches over them, merges what they wrote. `path` is the file to make,
// `wanted` what the user named; "": nothing is kept.
int launch_ranks(CommandContext& context, const RunFlags& flags, ProgressPrinter& printer, const Job& job,
                 const std::string& path, const std::string& wanted);

// This process is one of the ranks.
int run_as_rank(CommandContext& context, const RunFlags& flags, ProgressPrinter& printer, const Job& job);

}  // namespace spscope
