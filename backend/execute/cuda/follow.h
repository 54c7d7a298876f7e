// Following a repeat: what the streams have done, told to those who watch the run.
//
// A lane of a GPU has no thread that could say what it does. One thread of the process reads the words that streams
// write, keeps the line of every lane (lanes/run_control.h), and takes the times of each op from its events.
#pragma once

#include "backend/execute/cuda/cuda_run.h"

namespace spscope::cuda {

// The main of the thread that follows. Returns when every op has ended, or when the run stops.
void follow_repeat(CudaRun& run);

// SystemView::computes of GPU ranks: a kernel that is slow looks like one that hangs, so an op during which no rank
// makes progress for the watchdog's time is a hang.
std::vector<std::optional<bool>> computes_unknown(std::span<const int> ranks);

// Runs one repeat (run_threads): a thread for each device enqueues, another follows. REQUIRES: start_repeat().
std::int64_t run_repeat(const std::shared_ptr<CudaRun>& run, int repeat, const std::function<void()>& meet = {});

}  // namespace spscope::cuda
