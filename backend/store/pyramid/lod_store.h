// Pyramids in a file: LodWriter puts them there when shards are merged, LodReader answers from them.
//
// A pyramid is one track, or all lanes of a rank together; tracks of other kinds have only their own, and the
// overlapping track of a lane has none. Its finest shift, the base, has about 8 events a bucket and track. A strip of
// each shift is stored, up to the first that has no more than two buckets; of these two the busy times are stored, from
// which all wider buckets follow.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "backend/record/events.h"
#include "backend/store/pyramid/lod_pyramid.h"

namespace spscope {

class Database;

// meta key: where unfinished events are taken to end, the last moment that any event knows of.
inline constexpr const char* kRecordedUntil = "recorded_until_ns";

// The strip of all lanes of a rank, or of one track that is no lane.
struct RowStrip {
  int rank = 0;                  // kNoRank: the track names none
  std::optional<TrackId> track;  // absent: the lanes of the rank
  std::vector<std::uint8_t> strip;
};

struct StoredPyramid {
  std::int64_t pyramid_id = 0;
  std::optional<int> rank;
  std::optional<TrackId> track;  // absent: all lanes of the rank
  int base_shift = 0;
  LodLevel widest = {};  // one or two buckets with all busy times, and nothing else of a bucket; none: never busy

  std::array<std::int64_t, kNumEventCategories> busy_ns() const;  // in all
};

// Writes pyramids from their base buckets as they come. Of each strip it holds what is not yet a full row of its table.
class LodWriter {
 public:
  LodWriter(Database& db, std::int64_t recorded_until_ns);
  ~LodWriter();
  // `pyramid_id`: not used before.
  void open(std::int64_t pyramid_id, std::optional<int> rank, std::optional<TrackId> track, const LodRange& base);
  // The next base buckets of an open pyramid. With the last of its range all of it is written.
  void append(std::int64_t pyramid_id, std::span<const LodBucket> base);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Throws Error (kStoreCorrupt) when it meets damage. For one thread at a time.
class LodReader {
 public:
  explicit LodReader(Database& db);
  ~LodReader();
  LodReader(LodReader&&) noexcept;
  LodReader& operator=(LodReader&&) noexcept;

  // By rank, each rank's own before its tracks. A file without pyramids has none.
  const std::vector<StoredPyramid>& pyramids() const;
  // Buckets [first, end) of a shift, each in one byte, as lod_strip makes it. REQUIRES: base_shift <= shift <=
  // kMaxLodShift and first <= end.
  std::vector<std::uint8_t> strip(const StoredPyramid& pyramid, int shift, std::int64_t first, std::int64_t end) const;
  // What the rows of a timeline are of: the lanes of each rank, behind it the tracks that name it and are no lanes, and
  // last those that name none.
  std::vector<StoredPyramid> rows() const;
  // Buckets [first, end) of the strips of all rows: a window of a timeline. Of a row whose base shift is wider than
  // `shift`, buckets that one of its base shift covers are all like that one. REQUIRES: as of strip(), but that any
  // shift from 0 will do.
  std::vector<RowStrip> row_strips(int shift, std::int64_t first, std::int64_t end) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace spscope
