// A user's own times fitted into a cluster profile: what `spscope calibrate --fit` does.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backend/config/cluster.h"
#include "backend/fit/timing_row.h"

namespace spscope {

struct FittedNumber {
  std::string name, help;  // "cost.gemm_ns_per_flop"
  double before = 0, after = 0;
  bool moved = false;  // else the times do not show it, and it keeps where it was from
};

struct FittedTime {
  std::string id;
  double measured_s = 0, before_s = 0, after_s = 0;
};

struct ProfileFit {
  ClusterPreset preset;  // flat, ready for cluster.profile
  std::vector<FittedNumber> numbers;
  std::vector<FittedTime> times;
  double median_error_before = 0, median_error_after = 0;  // of predicted over measured, less 1
};

// Starts from `cluster` (a preset, a profile, or "" for what the table's gpu and interconnect name) and moves its
// rates, passes, host times and the time outside of the layers by one factor each, kept near 1 as far as the times do
// not say otherwise. Rows with left_out are skipped. Throws Error with all problems: a row without a run, times of
// several models, kernels, implementations or clusters, which no one profile has, or times that move a number to over
// three times or under a third of what it was, with the row that is furthest from its prediction.
ProfileFit fit_profile(const std::vector<TimingRow>& rows, const std::string& cluster, const std::string& folder);

}  // namespace spscope
