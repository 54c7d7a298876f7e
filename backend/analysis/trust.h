// Trust: whether times are good enough to call one strategy faster than another. Every rule uses stored figures only,
// so that `run`, `compare` and `report` agree on a file (docs/metrics.md states the rules and their limits).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backend/analysis/strategy_result.h"

namespace spscope {

// compute_scale within these limits: the compute that was measured is near enough to the cluster's.
inline constexpr double kSlowestOwnCompute = 2, kFastestOwnCompute = 0.5;

// Above these limits, times depend on something other than the plan.
inline constexpr double kLargestDeviation = 0.25;  // of compute_deviation
inline constexpr double kLargestSpread = 0.10;     // of makespan_spread / makespan

// Largest |attention time / its mean - tiles / their mean| over ranks; absent for fewer than two ranks, or without
// times or tiles. REQUIRES: one entry a rank in both.
std::optional<double> compute_deviation(const std::vector<std::int64_t>& attention_ns,
                                        const std::vector<double>& tiles_by_rank);

// The evidence that other programs disturbed the times: "repeats of ring r4 spread by 38 % (limit 10 %)"; "" when there
// is none. Only measured compute of clean timing can be disturbed.
std::string disturbance(const StrategyResult& strategy);

// Whether compute was measured on a machine of another speed than the cluster's devices (compute_scale beyond its
// limits). Never for `local`, which is this machine.
bool foreign_compute(const StrategyResult& strategy, const Workload& workload);

// "a800" of the preset "a800x8" or "p4de" of "p4de-xN": the part that names the device. Other names are those of
// cluster files, which say what their owners like, and stay as they are.
std::string device_name(const std::string& cluster);
// "8 x a800"; of a cluster file "3 ranks of 3x5090".
std::string ranks_on(int ranks, const std::string& cluster);

}  // namespace spscope
