// The formulas of the figures that are stored with a layer pass.
#include "backend/job/layer_times.h"

namespace spscope {

RunFigures figures_of(const PlannedLayer& planned, const TimedLayer* timed, std::optional<std::int64_t> bound_ns) {
  RunFigures figures;
  figures.planning_ns = planned.planning_ns;
  figures.density = planned.density;
  figures.tiles = planned.tiles.computed;
  figures.tiles_redundant = planned.tiles.redundant;
  figures.moved_fraction = planned.moved_fraction;
  figures.parameter_bytes = planned.parameter_bytes;
  figures.planned_imbalance_ratio = planned.planned_imbalance_ratio;
  figures.bound_ns = bound_ns;
  if (timed == nullptr) return figures;
  figures.makespan_low_ns = timed->makespan_low_ns;
  figures.makespan_high_ns = timed->makespan_high_ns;
  return figures;
}

}  // namespace spscope
