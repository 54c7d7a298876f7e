// Copies by copy engines: between two ranks, as run.comm = peer makes them, and within the memory of a GPU.
#pragma once

#include <cstdint>
#include <optional>

#include "backend/execute/calibrate/calibrate_fit.h"
#include "backend/execute/cuda/timed_experiment.h"

namespace spscope::cuda {

struct PeerCalibration {
  std::optional<LinkNumbers> link;  // absent: could not be told from noise
  FitQuality quality;
  Measured host_ns_per_hop;
};

// Whether copies of each reach memory of the other, which is enabled. Throws Error.
bool reach_each_other(const Gpu& one, const Gpu& two);

// Two ranks copy messages of 16 KiB to `max_message_bytes` from each other at once. `bench` has the first one's GPU;
// `other` may be the same. Throws Error. REQUIRES: they reach each other.
PeerCalibration measure_peer(const Bench& bench, Gpu& other, std::int64_t max_message_bytes, double seconds);

// 10^9 bytes a second, each copied byte counted once. Throws Error.
Measured measure_memory_copy(const Bench& bench, std::int64_t num_bytes, double seconds);

}  // namespace spscope::cuda
