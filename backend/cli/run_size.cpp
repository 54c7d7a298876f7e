#include "backend/cli/run_size.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/base/cores.h"
#include "kernels/calibrate.h"

namespace spscope {
namespace {

constexpr double kWorthSayingSeconds = 60, kSurelyShortFlops = 1e12;
// Of the FMA peak: what the attention kernel reaches on masks of active blocks.
constexpr double kShareOfPeak = 0.5;
constexpr int kCrowdedRanksPerCore = 8;

std::string length_in_words(double seconds) {
  constexpr double kHour = 3600;
  if (seconds < 10 * 60) return "minutes";
  if (seconds < kHour) return "tens of minutes";
  return seconds < 48 * kHour ? fmt::format("about {:.0f} hours", std::max(1.0, seconds / kHour))
                              : fmt::format("about {:.0f} days", seconds / (24 * kHour));
}

}  // namespace

std::string compute_note(const Job& job, const Plan& plan, int num_strategies) {
  const RunSection& run = job.config.run;
  if (run.mode == RunMode::kSimulate) return {};
  double flops = 0;
  for (const Op& op : plan.ops) flops += static_cast<double>(op.flops);
  flops *= static_cast<double>(num_strategies) * run.layers * run.denoise_steps * (run.repeats + run.warmup);
  if (flops < kSurelyShortFlops) return {};
  // A projection measures one rank at a time on one core.
  const int cores = run.mode == RunMode::kProject ? 1 : std::min(usable_cores(), plan.ranks);
  const double seconds = flops / (kernels::measure_fma_gflop_per_s() * 1e9 * kShareOfPeak * cores);
  if (seconds < kWorthSayingSeconds) return {};
  return fmt::format("about {:.0f} TFLOP on {} core{}: {}; run.mode = simulate takes seconds", flops * 1e-12, cores,
                     cores == 1 ? "" : "s", length_in_words(seconds));
}

std::string crowding_note(const Job& job) {
  const int ranks = job.cluster.plan_ranks(), cores = usable_cores();
  if (job.config.run.mode != RunMode::kExecute || ranks <= kCrowdedRanksPerCore * cores) return {};
  return fmt::format(
      "{} ranks share {} core{}: this is slow, and times say nothing about a cluster; run.mode = project measures one "
      "rank at a time",
      ranks, cores, cores == 1 ? "" : "s");
}

}  // namespace spscope
