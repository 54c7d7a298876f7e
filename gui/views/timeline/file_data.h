// What the timeline of a whole file is drawn from: its time, its rows, its layer passes along that time; the events of
// a window, and counters. Times are of the run clock, whose zero says where the axis begins.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backend/store/store_reader.h"
#include "gui/views/timeline/counter_series.h"
#include "gui/views/timeline/file_rows.h"
#include "gui/views/timeline/time_spans.h"

namespace spscope::gui {

// One repeat of a layer pass.
struct PassMark {
  RunId run = kNoRun;
  std::string strategy_id, label;
  int layer = 0, step = 0, repeat = 0;
  std::int64_t begin_ns = 0, end_ns = 0;
};

struct FileTimes {
  std::string why_none;                   // why there is no timeline; "" when there is one
  std::int64_t zero_ns = 0, end_ns = 0;   // first begin and last end of any event
  int base_shift = 0, coarsest_base = 0;  // of the rows: the finest, and the widest
  std::vector<FileRow> rows;
  std::vector<TimePart> parts;   // that rows have, in order of their colours
  std::vector<PassMark> passes;  // by begin
  // The pass of a run that a moment lies in; of none, nullptr.
  const PassMark* pass_of(RunId run, std::int64_t at_ns) const;
  std::ptrdiff_t num_ranks() const { return std::ranges::count(rows, FileRowKind::kLanes, &FileRow::kind); }
  // Of devices, threads and programs: each once.
  std::ptrdiff_t num_tracks() const {
    return std::ranges::count_if(rows,
                                 [](const FileRow& row) { return row.kind == FileRowKind::kTrack && row.sub == 0; });
  }
  // Where an event was: "rank 3, lane 1", "stream 7, GPU 0, rank 3".
  std::string place_of(const RowEvent& event) const;
};
FileTimes load_file_times(const StoreReader& reader);

// Events of a window, and what each row did at each of its moments.
struct FileEvents {
  EventWindow window;
  bool too_many = false;                // more than can be drawn: none are here
  std::vector<RowEvent> events;         // by rank, track, then begin
  std::map<NameId, std::string> names;  // of these events
  std::map<WorkDetailId, WorkDetail> details;
  std::vector<std::vector<TimeSpan>> rows;  // by row of FileTimes::rows; `op` is the place in `events`
  std::vector<std::vector<OpId>> hidden;    // places in `events`, by TimeSpan::hidden - 1
  const std::string& name(const RowEvent& event) const { return names.at(event.span.name); }
  WorkDetail detail(const RowEvent& event) const {
    const auto found = details.find(event.detail);
    return found != details.end() ? found->second : WorkDetail{};
  }
};
FileEvents load_file_events(const StoreReader& reader, const std::vector<FileRow>& rows, EventWindow window,
                            std::int64_t recorded_until_ns);

// The counters of one heading, by track.
using FileCounters = std::map<TrackId, CounterSeries>;
FileCounters load_file_counters(const StoreReader& reader, const std::vector<FileRow>& rows, std::size_t heading);

// The group of an op of a run: its layer, its denoise step, or its ring step by the plan of the run.
enum class EventGroup { kLayer, kStep, kRingStep };
// For NameQuery::group_of. `reader` must live as long.
std::function<std::optional<std::int64_t>(RunId, std::int64_t)> group_of_events(const StoreReader& reader,
                                                                                EventGroup group);

// A window around [begin, end) that stays the same while these move a little, so that not each step asks anew.
EventWindow steady_window(std::int64_t begin_ns, std::int64_t end_ns);

}  // namespace spscope::gui
