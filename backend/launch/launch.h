// Who runs the ranks of a run: this process, processes that it starts with mpirun, or processes of which it is one.
// Each is a file of the name of its function; how a run ends is run_end.h.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "backend/launch/run_end.h"

namespace spscope {

// Runs the job in this process alone, into the collection of `output`: its ranks are threads, or, when times are
// simulated or projected, there are none. Once `stop` is set, only layers that are complete are kept. Throws Error: a
// shard cannot be made, or cannot be completed, and where it is.
RunEnd run_in_process(const RunSetup& setup, RunOutput& output, const ProgressPage& page, const std::atomic<bool>& stop,
                      RunListener& listener);

// Starts a process for each rank with mpirun and watches them. `arguments`: of the program that each of them runs,
// which is this one. `draws`: the listener draws progress, which is read from the page while the ranks write nothing.
// Once `stop` is set the ranks are asked to stop. Throws Error(kLaunch): mpirun is not there or cannot be started.
RunEnd launch_ranks(const RunSetup& setup, const std::vector<std::string>& arguments, bool draws, RunOutput& output,
                    const ProgressPage& page, const std::atomic<bool>& stop, RunListener& listener);

// The main of a rank's process: what the processes of a run do together, over however many hosts they are. Either
// launch_ranks() started them, or mpirun or srun did, and rank 0 makes OUT. `collection`: the note of the run in
// progress that this process is part of, when `spscope run` started it; else "". Returns the exit code of this process;
// only that of rank 0 says how the run ended. Throws Error at rank 0.
int rank_main(const RunSetup& setup, const std::string& collection, RunListener& listener);

}  // namespace spscope
