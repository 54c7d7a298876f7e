// The formulas of the figures of a layer pass that need its times.
#include "backend/job/layer_times.h"

namespace spscope {

RunFigures figures_of(const PlannedLayer& planned, const TimedLayer& timed, std::optional<std::int64_t> bound_ns) {
  RunFigures figures = planned.figures;
  figures.bound_ns = bound_ns;
  figures.makespan_low_ns = timed.makespan_low_ns;
  figures.makespan_high_ns = timed.makespan_high_ns;
  return figures;
}

}  // namespace spscope
