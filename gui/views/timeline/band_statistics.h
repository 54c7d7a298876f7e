// Statistics of the durations of a band's events. They sort millions of durations: on a thread of the workers.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/store/name_statistics.h"
#include "gui/session/link.h"
#include "gui/session/workers.h"
#include "gui/views/timeline/band.h"

namespace spscope::gui {

// Of the events that lie in the range at least in part.
struct NamesOfBand {
  StrategyKey key;
  std::string label;
  std::shared_ptr<const Band> band;
  std::vector<DurationStatistics> by_name;  // by number in Band::names
};
// Throws Error kCancelled.
std::vector<DurationStatistics> statistics_by_name(const Band& band, const std::optional<TimeRange>& range,
                                                   const Cancelled& cancelled);
// Of the events of one name, by a group of their ops. Throws Error kCancelled.
std::map<int, DurationStatistics> statistics_by_group(const Band& band, int name, const std::optional<TimeRange>& range,
                                                      const std::function<int(const Op&)>& group,
                                                      const Cancelled& cancelled);

}  // namespace spscope::gui
