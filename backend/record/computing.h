// Whether a process computes: the one measure with which judge_lanes() tells a slow rank from a hung one, for ranks
// that watch themselves as for launchers and viewers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "backend/base/process.h"

namespace spscope {

// A thread computes when it was on a core for more than this share of the time that it did not spend waiting for one,
// so that load of other programs does not matter. A thread that polls while it waits uses a few percent.
inline constexpr double kComputingShare = 0.25;

using ThreadTable = std::map<int, ThreadTimes>;  // by thread id

// Whether any thread computed in the window of `window_ns` between two calls of read_threads(); nullopt: nothing is
// known of the process at one of them.
std::optional<bool> has_computed(const ThreadTable& before, const ThreadTable& after, std::int64_t window_ns);

// By process, whether it computes now, the calling thread apart, for a caller that has seen no progress for
// `patience_seconds`. Takes half of that, from 0.2 s to 2 s: a thread that has to wait for a core must get one
// meanwhile, since Linux counts a wait when it ends.
std::vector<std::optional<bool>> which_compute(std::span<const int> pids, double patience_seconds);

}  // namespace spscope
