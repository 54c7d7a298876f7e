// Rows of the tables `chunk` and `track` as headers of chunks and as tracks: read in one place, whatever reads the row.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "backend/base/error.h"
#include "backend/store/chunk/chunk_codec.h"

namespace spscope {

// Its columns, one after the other.
inline constexpr std::string_view kChunkHeaderColumns =
    "record_kind, codec, count, begin_min_ns, begin_max_ns, end_max_ns, op_min, op_max, crc32c";

// Reads them, from column `first` of a row on. `Row` has integer(column) and integer(column, min, max), which throw
// Error when the row holds something else.
template <typename Row>
ChunkHeader chunk_header(const Row& row, int first) {
  ChunkHeader header;
  header.kind = static_cast<RecordKind>(row.integer(first, 0, kNumRecordKinds - 1));
  header.codec = static_cast<ChunkCodec>(row.integer(first + 1, 0, 255));
  header.count = static_cast<int>(row.integer(first + 2, 1, kMaxChunkEvents));
  header.begin_min_ns = row.integer(first + 3);
  header.begin_max_ns = row.integer(first + 4);
  header.end_max_ns = row.integer(first + 5);
  header.op_min = row.integer(first + 6);
  header.op_max = row.integer(first + 7);
  header.crc32c = static_cast<std::uint32_t>(row.integer(first + 8, 0, std::numeric_limits<std::uint32_t>::max()));
  return header;
}

// The run of a chunk: NULL stands for none.
template <typename Row>
RunId chunk_run(const Row& row, int column) {
  return row.is_null(column) ? kNoRun : RunId{row.integer(column)};
}
inline std::optional<RunId> stored_run(RunId run) { return run == kNoRun ? std::nullopt : std::optional(run); }

inline constexpr std::string_view kTrackColumns =
    "track_id, kind, name, process, device, rank, lane, slot, overlapping";
inline constexpr std::string_view kInsertTrack =
    "INSERT INTO track (track_id, kind, name, process, device, rank, lane, slot, overlapping) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";

// The columns kTrackColumns, from the first on. `Row` has is_null(column) and text(column) too.
template <typename Row>
Track track_of(const Row& row) {
  constexpr std::int64_t kMaxInt = std::numeric_limits<int>::max();
  const auto number = [&](int column) { return static_cast<int>(row.integer(column, 0, kMaxInt)); };
  const auto text = [&](int column) {
    return row.is_null(column) ? std::nullopt : std::optional<std::string>(row.text(column));
  };
  Track track;
  track.track_id = TrackId{row.integer(0)};
  track.kind = static_cast<TrackKind>(row.integer(1, 0, kNumTrackKinds - 1));
  track.name = std::string(row.text(2));
  track.process = text(3);
  track.device = text(4);
  const bool is_lane = track.kind == TrackKind::kRankLane;  // whose rank and lane readers rely on
  if (is_lane || !row.is_null(5)) track.rank = number(5);
  if (is_lane) track.lane = number(6);
  if (!is_lane && !row.is_null(6))
    throw Error(ErrorCode::kStoreCorrupt, track_text(track) + " has a lane, which only ranks have");
  track.slot = number(7);
  track.overlapping = row.integer(8, 0, 1) != 0;
  return track;
}

// Runs kInsertTrack. `Insert` has run(values...).
template <typename Insert>
void insert_track(Insert& insert, const Track& t) {
  insert.run(t.track_id, t.kind, t.name, t.process, t.device, t.rank, t.lane, t.slot, t.overlapping);
}

}  // namespace spscope
