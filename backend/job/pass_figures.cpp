// The formulas of the figures of a layer pass that need its times.
#include <algorithm>
#include <vector>

#include "backend/analysis/run_figures.h"
#include "backend/job/layer_times.h"

namespace spscope {
namespace {

// Over all ranks, in the median repeat; absent without one.
std::optional<std::int64_t> longest_wait_ns(const Plan& plan, std::span<const ScheduledPass> repeats) {
  std::vector<RepeatRecord> records;
  for (const ScheduledPass& pass : repeats)
    records.push_back({.repeat = static_cast<int>(records.size()), .makespan_ns = pass.makespan_ns});
  const auto median = median_repeat(records);
  if (!median) return std::nullopt;
  const std::vector<OpTimes>& times = repeats[static_cast<std::size_t>(median->repeat)].timeline.ops;
  std::int64_t longest_ns = 0;
  for (std::size_t id = 0; id < times.size(); ++id)
    if (communicates(plan.kind_of(plan.ops[id])))
      longest_ns = std::max(longest_ns, times[id].begin_ns - times[id].post_ns);
  return longest_ns;
}

}  // namespace

RunFigures figures_of(const PlannedLayer& planned, const TimedLayer& timed, std::optional<std::int64_t> bound_ns) {
  RunFigures figures = planned.figures;
  figures.bound_ns = bound_ns;
  figures.makespan_low_ns = timed.makespan_low_ns;
  figures.makespan_high_ns = timed.makespan_high_ns;
  figures.longest_wait_ns = longest_wait_ns(planned.plan, timed.repeats);
  return figures;
}

}  // namespace spscope
