// A run whose ranks are processes that this one starts with mpirun, watches over, and makes OUT for.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "backend/launch/run_end.h"

namespace spscope {

// `arguments`: of the program that each rank's process runs, which is this one. `draws`: the listener draws progress,
// which is then read from the page while the ranks say nothing. Once `stop` is set the ranks are asked to stop. Throws
// Error(kLaunch): mpirun is not there or cannot be started.
RunEnd launch_ranks(const RunSetup& setup, const std::vector<std::string>& arguments, bool draws, RunOutput& output,
                    const ProgressPage& page, const std::atomic<bool>& stop, RunListener& listener);

}  // namespace spscope
