// A run in this process alone: its ranks are threads, or, when times are simulated or projected, there are none.
#pragma once

#include <atomic>

#include "backend/launch/run_end.h"

namespace spscope {

// Runs the job into the collection of `output`. Once `stop` is set, layers that are complete are what is left. Throws
// Error: a shard cannot be made, or cannot be completed, and where it is.
RunEnd run_in_process(const RunSetup& setup, RunOutput& output, const ProgressPage& page, const std::atomic<bool>& stop,
                      RunListener& listener);

}  // namespace spscope
