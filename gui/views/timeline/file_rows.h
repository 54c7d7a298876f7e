// The rows that the timeline of a whole file has: of each rank the lanes, behind it the tracks that name it, devices
// with their counters; last what names no rank, program by program. Where there are no lanes, a heading stands for
// them. A track whose events overlap has several rows, a device folds its counters into one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/store/store_reader.h"
#include "gui/views/timeline/time_part.h"

namespace spscope::gui {

// A track whose events overlap has at most so many rows.
inline constexpr int kMostSubRows = 4;

enum class FileRowKind {
  kLanes,     // of a rank
  kGroup,     // the heading of tracks of a rank without lanes, or of a program without rank
  kTrack,     // that is no lane, as the stream of a device
  kCounters,  // the heading of the counters of a device, or of those that are of none
  kCounter
};

struct FileRow {
  FileRowKind kind = FileRowKind::kLanes;
  int rank = 0;                       // kNoRank: of a track that names none
  std::optional<TrackId> track = {};  // of a track or counter
  int strip = -1;                     // place among LodReader::row_strips; -1: it has none
  int sub = 0, num_subs = 1;          // of a track whose events overlap: which of its rows this is
  std::string label = {};    // "rank 3", below it "stream 7"; of a counter its quantity; "" below the first row
  std::string title = {};    // what it is, wherever it stands: "rank 0, stream 7, GPU 0 at 0000:3B:00.0"
  std::string unit = {};     // of a counter, "W"; of a heading what it stands for: quantities, programs
  bool headed = false;       // it stands below the lanes of its rank or below a heading
  std::size_t owner = 0;     // place of the row of the rank that it stands behind; else its own
  std::size_t heading = 0;   // place of the heading of a counter
  int group = -1;            // of a heading: its number among those of the file
  int node = -1;             // below 0: not known
  std::int64_t missing = 0;  // events of it that are not in the file
  std::array<std::int64_t, kNumTimeParts> busy_ns{};  // over the whole file

  RowOf of() const { return track ? RowOf::kTrack : RowOf::kLanes; }
  std::int64_t busy(TimePart part) const { return busy_ns[static_cast<std::size_t>(part)]; }
};

std::vector<FileRow> load_file_rows(const StoreReader& reader);

}  // namespace spscope::gui
