// What the timeline of a whole file is drawn from: its time, its ranks, its layer passes along that time; and the
// events of a window. Times are of the run clock, whose zero says where the axis begins.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backend/store/store_reader.h"
#include "gui/views/timeline/time_spans.h"

namespace spscope::gui {

// One repeat of a layer pass.
struct PassMark {
  RunId run = kNoRun;
  std::string strategy_id, label;
  int layer = 0, step = 0, repeat = 0;
  std::int64_t begin_ns = 0, end_ns = 0;
};

// A row: the lanes of a rank, or a track that is none, as the stream of a device.
struct FileRank {
  int rank = 0;                       // kNoRank: of a track that names none
  std::optional<TrackId> track = {};  // absent: the lanes of the rank
  std::string label = {};             // "rank 3", "stream 7, GPU 0"
  std::size_t owner = 0;              // place of the row of the rank that it stands behind; else its own
  int node = -1;                      // below 0: not known
  std::int64_t missing = 0;           // events of it that are not in the file
  // Over the whole file.
  std::int64_t compute_ns = 0, wait_ns = 0, wire_ns = 0, other_ns = 0;
};

struct FileTimes {
  std::string why_none;                   // why there is no timeline; "" when there is one
  std::int64_t zero_ns = 0, end_ns = 0;   // first begin and last end of any event
  int base_shift = 0, coarsest_base = 0;  // of the rows: the finest, and the widest
  std::vector<FileRank> ranks;            // as LodReader::rank_strips gives them
  std::vector<PassMark> passes;           // by begin
  // The pass of a run that a moment lies in; of none, nullptr.
  const PassMark* pass_of(RunId run, std::int64_t at_ns) const;
  std::ptrdiff_t num_ranks() const {
    return std::ranges::count_if(ranks, [](const FileRank& row) { return !row.track; });
  }
  // Where an event was: "rank 3, lane 1", "stream 7, GPU 0, rank 3".
  std::string place_of(const RankEvent& event) const;
};
FileTimes load_file_times(const StoreReader& reader);

// Events of a window, and what each rank did at each of its moments.
struct FileEvents {
  EventWindow window;
  bool too_many = false;                    // more than can be drawn: none are here
  std::vector<RankEvent> events;            // by rank, then begin
  std::map<NameId, std::string> names;      // of these events
  std::vector<std::vector<TimeSpan>> rows;  // by row of FileTimes::ranks; `op` is the place in `events`
  const std::string& name(const RankEvent& event) const { return names.at(event.span.name); }
};
FileEvents load_file_events(const StoreReader& reader, const std::vector<FileRank>& ranks, EventWindow window,
                            std::int64_t recorded_until_ns);

// The group of an op of a run: its layer, its denoise step, or its ring step by the plan of the run.
enum class EventGroup { kLayer, kStep, kRingStep };
// For NameQuery::group_of. `reader` must live as long.
std::function<std::optional<std::int64_t>(RunId, std::int64_t)> group_of_events(const StoreReader& reader,
                                                                                EventGroup group);

// A window around [begin, end) that stays the same while these move a little, so that not each step asks anew.
EventWindow steady_window(std::int64_t begin_ns, std::int64_t end_ns);

}  // namespace spscope::gui
