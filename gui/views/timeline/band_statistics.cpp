#include "gui/views/timeline/band_statistics.h"

namespace spscope::gui {
namespace {

// Calls `list(op, duration)` for each event that lies in the range at least in part.
template <typename List>
void for_each_duration(const Band& band, const std::optional<TimeRange>& range, const Cancelled& cancelled, List list) {
  constexpr std::size_t kOpsPerLook = 65'536;
  for (std::size_t op = 0; op < band.name_of.size(); ++op) {
    if (op % kOpsPerLook == 0) cancelled.require_going();
    const OpTimes& t = band.times(static_cast<OpId>(op));
    if (range && (t.end_ns <= range->begin_ns || t.begin_ns >= range->end_ns)) continue;
    list(op, t.end_ns - t.begin_ns);
  }
}

}  // namespace

std::vector<DurationStatistics> statistics_by_name(const Band& band, const std::optional<TimeRange>& range,
                                                   const Cancelled& cancelled) {
  std::vector<std::vector<std::int64_t>> lists(band.names.size());
  for_each_duration(band, range, cancelled, [&](std::size_t op, std::int64_t ns) {
    lists[static_cast<std::size_t>(band.name_of[op])].push_back(ns);
  });
  std::vector<DurationStatistics> found;
  for (std::vector<std::int64_t>& list : lists) {
    cancelled.require_going();
    found.push_back(duration_statistics(list));
  }
  return found;
}

std::map<int, DurationStatistics> statistics_by_group(const Band& band, int name, const std::optional<TimeRange>& range,
                                                      const std::function<int(const Op&)>& group,
                                                      const Cancelled& cancelled) {
  std::map<int, std::vector<std::int64_t>> lists;
  for_each_duration(band, range, cancelled, [&](std::size_t op, std::int64_t ns) {
    if (band.name_of[op] == name) lists[group(band.pass->plan->ops[op])].push_back(ns);
  });
  std::map<int, DurationStatistics> found;
  for (auto& [key, list] : lists) found.emplace(key, duration_statistics(list));
  return found;
}

}  // namespace spscope::gui
