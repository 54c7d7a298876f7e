// Enqueueing a repeat: the ops of one device, post by post, each on the stream of its lane. Each device has a thread
// for it, since one thread would take as long for the calls of eight devices as an exchange between them takes.
//
// Posts are totally ordered and ops depend on earlier posts only, so every event is recorded before another stream of
// the device waits for it, and streams that share a hardware queue cannot wait for work behind them. The ops of a
// two-sided post go in three passes, since their partners are in the same post: they post; they wait for their partners
// and copy; they wait for those that take from them, and end. Streams of one device wait for each other by events;
// those of different devices and processes by words in memory of the host, which may be written by work that is
// enqueued later.
#pragma once

#include <memory>

#include "backend/execute/cuda/cuda_run.h"

namespace spscope::cuda {

// The main of the thread that enqueues for a device. Returns when all its work of the repeat has ended; when the run
// stops, once its streams are idle, so that their memory may go: a kernel that does not end keeps it, as a lane that
// does not come back.
void enqueue_repeat(CudaRun& run, DeviceQueue& queue, int repeat);

// Stops the run because a call failed while op `at` was enqueued or followed. A kernel or a copy that fails is noticed
// at a later call; the op that was under way is named then.
void fail_op(CudaRun& run, OpId at, const std::string& reason);

}  // namespace spscope::cuda
