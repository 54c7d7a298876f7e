// DurationBrush: a drag over the bins of a histogram of durations selects the events that take so long: they are lit in
// the rows and listed in a table.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/store/name_statistics.h"
#include "gui/session/link.h"
#include "gui/ui/table_view.h"
#include "gui/views/timeline/axis.h"
#include "gui/views/timeline/band.h"

namespace spscope::gui {

struct Durations {  // [begin_ns, end_ns)
  std::int64_t begin_ns = 0, end_ns = 0;
  friend bool operator==(const Durations&, const Durations&) = default;
};

// The events of a name that take so long, of those that lie in `time` at least in part; the longest first, then by op.
std::vector<OpId> events_of_durations(const Band& band, int name, const std::optional<TimeRange>& time,
                                      const Durations& durations);
// All bins from the one of P90 on.
Durations slowest_tenth(const DurationStatistics& statistics);

class DurationBrush {
 public:
  // Over the histogram that was drawn in `area`. `band` is that of the events, `key` says which strategy it is of;
  // another key, name or range of time ends the brush. Whether something new is selected.
  bool over(Ui& ui, const Rect& area, const DurationStatistics& statistics, const Band& band, const std::string& key,
            const std::string& name, const std::optional<TimeRange>& time);
  bool active() const { return durations_.has_value() && held_at_ < 0; }
  void clear();
  // Of the strategy of `key`: a frame around each of its events that is on the screen. `row` is the top and the bottom
  // of a rank's row.
  void light(Ui& ui, const TimeAxis& axis, const Band& band, const std::string& key,
             const std::function<std::optional<std::pair<float, float>>(int rank)>& row);
  // REQUIRES: active(). The event whose row was clicked.
  std::optional<OpId> draw_table(Ui& ui);
  const std::string& key() const { return key_; }
  Json dump() const;

 private:
  void drag(Ui& ui, const Rect& area, const DurationStatistics& statistics);
  void find(const Band& band, const std::optional<TimeRange>& time);

  std::string key_, name_;
  std::optional<TimeRange> time_;
  std::optional<Durations> durations_, found_durations_;
  std::string of_;             // PassData::key of what events_ are of
  int held_at_ = -1;           // the bin where the drag began; -1: none
  std::vector<OpId> events_;   // the longest first
  std::vector<OpId> by_time_;  // by rank, then by begin
  Table table_;
  TableState state_;
};

}  // namespace spscope::gui
