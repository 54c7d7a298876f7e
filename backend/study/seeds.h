// The same run on masks of several seeds: how much of a result is the draw of one mask.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/study/engine_choice.h"
#include "backend/study/quiet_run.h"

namespace spscope {

struct SeededRuns {
  std::vector<std::uint64_t> seeds;        // of the masks, ascending
  std::vector<ChosenStrategy> strategies;  // as they ran: settings of `all` are picked once, over all seeds
  std::vector<Comparison> by_seed;
  Comparison together;  // as one run of all their layer passes
};

// How many seeds say more than one: those of a mask file, of real activations and of dense masks do not.
int useful_seeds(const Job& job, int wanted);
// The job with its settings of `all` picked over all seeds, as run_seeds() picks them, with its `also`.
Job with_settings_of_seeds(const Job& job, int seeds, const QuietRun& options, const SettingTest& also);
// Seeds mask.seed, mask.seed + 1, ... Throws Error as comparison_of(). `also`: of a strategy of `all` whose fastest
// setting fails it, the fastest that passes runs, too, before it.
SeededRuns run_seeds(const Job& job, int seeds, const QuietRun& options, const SettingTest& also = {});

// Times, bytes and tiles are sums over all, ratios means, end to end the mean, and samples an hour follow from it.
// Speed-ups are anew.
// REQUIRES: not empty, of one job but for the seed, with the same strategies.
Comparison joined(const std::vector<Comparison>& comparisons);

// Mean and spread of one figure over seeds.
struct Spread {
  double mean = 0, least = 0, most = 0;
  double deviation = 0;  // standard deviation of the sample; 0 for one
  int count = 0;
};
Spread spread_of(const std::vector<double>& values);

}  // namespace spscope
