#include "backend/store/pyramid/lod_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "backend/base/check.h"
#include "backend/record/rank_records.h"
#include "backend/store/chunk/event_reader.h"
#include "backend/store/pyramid/lod_codec.h"
#include "backend/store/sqlite/sqlite.h"

namespace spscope {

namespace {

// A level whose buckets come in order.
struct OpenLevel {
  LodRange range;
  std::int64_t next = 0;            // bucket
  std::vector<std::uint8_t> strip;  // what of it is not written
  LodBucket wider;                  // what is known of the bucket of the next shift that holds `next`

  // Two buckets may meet at zero, which no wider bucket joins.
  bool is_widest() const { return range.last_bucket - range.first_bucket < 2 || range.shift == kMaxLodShift; }

  // Folds the next buckets into those of the next shift: the ones that this completes.
  std::vector<LodBucket> fold(std::span<const LodBucket> buckets, std::int64_t recorded_until_ns) {
    std::vector<LodBucket> complete;
    complete.reserve(buckets.size() / 2 + 1);
    std::int64_t at = next;
    for (const LodBucket& bucket : buckets) {
      merge_bucket(wider, bucket, recorded_until_ns);
      if ((at & 1) != 0 || at == range.last_bucket) complete.push_back(std::exchange(wider, {}));
      ++at;
    }
    return complete;
  }
};

// The levels of a pyramid, from its base to the widest.
std::vector<OpenLevel> open_levels(LodRange range) {
  std::vector<OpenLevel> levels;
  for (;; range = {range.shift + 1, range.first_bucket >> 1, range.last_bucket >> 1}) {
    OpenLevel& level = levels.emplace_back();
    level.range = range;
    level.next = range.first_bucket;
    if (level.is_widest()) return levels;
  }
}

}  // namespace

struct LodWriter::State {
  State(Database& db, std::int64_t recorded_until_ns)
      : recorded_until_ns(recorded_until_ns),
        insert_pyramid(db, "INSERT INTO pyramid (pyramid_id, rank, track_id, base_shift) VALUES (?, ?, ?, ?)"),
        insert_busy(db, "INSERT INTO lod_busy (pyramid_id, shift, bucket, category, busy_ns) VALUES (?, ?, ?, ?, ?)"),
        insert_strip(
            db, "INSERT INTO lod_strip (pyramid_id, shift, first_bucket, num_buckets, data) VALUES (?, ?, ?, ?, ?)") {}

  void write_busy(std::int64_t pyramid, int shift, std::int64_t number, const LodBucket& bucket) {
    for (std::size_t c = 0; c < bucket.busy_ns.size(); ++c)
      if (bucket.busy_ns[c] > 0) insert_busy.run(pyramid, shift, number, static_cast<int>(c), bucket.busy_ns[c]);
  }

  void write_strip(std::int64_t pyramid, OpenLevel& level) {
    if (!std::all_of(level.strip.begin(), level.strip.end(), [](std::uint8_t byte) { return byte == 0; })) {
      const std::vector<std::uint8_t> data = encode_strip_block(level.strip);
      insert_strip.run(pyramid, level.range.shift, level.next - std::ssize(level.strip), level.strip.size(),
                       std::span<const std::uint8_t>(data));
    }
    level.strip.clear();
  }

  void append(std::int64_t pyramid, OpenLevel& level, std::span<const LodBucket> buckets) {
    for (const LodBucket& bucket : buckets) {
      if (level.is_widest()) write_busy(pyramid, level.range.shift, level.next, bucket);
      const bool last = level.next++ == level.range.last_bucket;
      level.strip.push_back(lod_strip_byte(bucket, level.range.shift));
      if (last || level.strip.size() == kMaxStripBlock) write_strip(pyramid, level);
    }
  }

  std::int64_t recorded_until_ns;
  Statement insert_pyramid, insert_busy, insert_strip;
  std::map<std::int64_t, std::vector<OpenLevel>> pyramids;
};

LodWriter::LodWriter(Database& db, std::int64_t recorded_until_ns)
    : state_(std::make_unique<State>(db, recorded_until_ns)) {
  Statement(db, "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)")
      .run(kRecordedUntil, std::to_string(recorded_until_ns));
}
LodWriter::~LodWriter() = default;

void LodWriter::open(std::int64_t pyramid_id, std::optional<int> rank, std::optional<TrackId> track,
                     const LodRange& base) {
  state_->insert_pyramid.run(pyramid_id, rank, track, base.shift);
  state_->pyramids[pyramid_id] = open_levels(base);
}

void LodWriter::append(std::int64_t pyramid_id, std::span<const LodBucket> base) {
  const auto pyramid = state_->pyramids.find(pyramid_id);
  SPSCOPE_CHECK(pyramid != state_->pyramids.end());
  std::vector<LodBucket> folded;
  for (OpenLevel& level : pyramid->second) {
    std::vector<LodBucket> wider = level.fold(base, state_->recorded_until_ns);
    state_->append(pyramid_id, level, base);
    folded = std::move(wider);
    base = folded;
  }
  const OpenLevel& finest = pyramid->second.front();
  if (finest.next > finest.range.last_bucket) state_->pyramids.erase(pyramid);
}

std::array<std::int64_t, kNumEventCategories> StoredPyramid::busy_ns() const {
  LodBucket sum;
  for (const LodBucket& bucket : widest.buckets) merge_bucket(sum, bucket, 0);
  return sum.busy_ns;
}

struct LodReader::State {
  explicit State(Database& db) : db(db) {
    Statement rows(
        db, "SELECT pyramid_id, rank, track_id, base_shift FROM main.pyramid ORDER BY rank IS NULL, rank, track_id");
    while (rows.step()) {
      StoredPyramid& pyramid = pyramids.emplace_back();
      pyramid.pyramid_id = rows.integer(0);
      if (!rows.is_null(1)) pyramid.rank = rows.count(1);
      if (!rows.is_null(2)) pyramid.track = TrackId{rows.integer(2)};
      pyramid.base_shift = static_cast<int>(rows.integer(3, 0, kMaxLodShift));
    }
    read_busy_times();
    for (const Track& track : EventReader(db).tracks())
      if (track.kind == TrackKind::kRankLane) lanes.insert(track.track_id);
  }

  void read_busy_times() {
    std::map<std::int64_t, LodLevel*> levels;
    for (StoredPyramid& pyramid : pyramids) levels.emplace(pyramid.pyramid_id, &pyramid.widest);
    Statement rows(
        db, "SELECT pyramid_id, shift, bucket, category, busy_ns FROM main.lod_busy ORDER BY pyramid_id, bucket");
    while (rows.step()) {
      const auto found = levels.find(rows.integer(0));
      if (found == levels.end()) continue;
      LodLevel& level = *found->second;
      constexpr std::int64_t kFurthest = std::int64_t{1} << kMaxLodShift;
      const std::int64_t bucket = rows.integer(2, -kFurthest, kFurthest);
      if (level.buckets.empty()) {
        level.first_bucket = bucket;
        level.shift = static_cast<int>(rows.integer(1, 0, kMaxLodShift));
      }
      const auto place = static_cast<std::uint64_t>(bucket) - static_cast<std::uint64_t>(level.first_bucket);
      if (place > 1 || rows.integer(1) != level.shift) db.throw_damaged("a pyramid has more than two widest buckets");
      level.buckets.resize(std::max<std::size_t>(level.buckets.size(), place + 1));
      LodBucket part;
      part.busy_ns[static_cast<std::size_t>(rows.integer(3, 0, kNumEventCategories - 1))] =
          rows.integer(4, 0, std::numeric_limits<std::int64_t>::max());
      merge_bucket(level.buckets[place], part, 0);
    }
  }

  Database& db;
  std::vector<StoredPyramid> pyramids;
  std::set<TrackId> lanes;
};

LodReader::LodReader(Database& db) : state_(std::make_unique<State>(db)) {}
LodReader::~LodReader() = default;
LodReader::LodReader(LodReader&&) noexcept = default;
LodReader& LodReader::operator=(LodReader&&) noexcept = default;

const std::vector<StoredPyramid>& LodReader::pyramids() const { return state_->pyramids; }

std::vector<std::uint8_t> LodReader::strip(const StoredPyramid& pyramid, int shift, std::int64_t first,
                                           std::int64_t end) const {
  SPSCOPE_CHECK(pyramid.base_shift <= shift && shift <= kMaxLodShift && first <= end);
  state_->db.cancel_token().require_going();
  if (pyramid.widest.buckets.empty() || shift >= pyramid.widest.shift)
    return lod_strip({shift, first, lod_answer(pyramid.widest, shift, first, end, 0)});
  std::vector<std::uint8_t> strip(static_cast<std::size_t>(end - first));
  Statement rows(state_->db,
                 "SELECT first_bucket, num_buckets, data FROM main.lod_strip WHERE pyramid_id = ? AND shift = ? "
                 "AND first_bucket < ? AND first_bucket + num_buckets > ?");
  rows.bind_all(pyramid.pyramid_id, shift, end, first);
  while (rows.step()) {
    const std::int64_t block_first = rows.integer(0);
    const std::vector<std::uint8_t> block = decode_strip_block(rows.integer(1), rows.blob(2));
    const std::int64_t from = std::max(first, block_first), to = std::min(end, block_first + std::ssize(block));
    for (std::int64_t k = from; k < to; ++k)
      strip[static_cast<std::size_t>(k - first)] = block[static_cast<std::size_t>(k - block_first)];
  }
  return strip;
}

std::vector<StoredPyramid> LodReader::rows() const {
  std::vector<StoredPyramid> rows = pyramids();
  std::erase_if(rows, [&](const StoredPyramid& row) { return row.track && state_->lanes.contains(*row.track); });
  return rows;
}

std::vector<RowStrip> LodReader::row_strips(int shift, std::int64_t first, std::int64_t end) const {
  SPSCOPE_CHECK(0 <= shift && shift <= kMaxLodShift && first <= end);
  std::vector<RowStrip> strips;
  for (const StoredPyramid& pyramid : rows()) {
    const int finer = std::max(0, pyramid.base_shift - shift);
    const std::int64_t base_first = first >> finer, base_end = first == end ? base_first : ((end - 1) >> finer) + 1;
    std::vector<std::uint8_t> strip = this->strip(pyramid, shift + finer, base_first, base_end);
    if (finer > 0) {
      std::vector<std::uint8_t> repeated;
      repeated.reserve(static_cast<std::size_t>(end - first));
      for (std::int64_t k = first; k < end; ++k)
        repeated.push_back(strip[static_cast<std::size_t>((k >> finer) - base_first)]);
      strip = std::move(repeated);
    }
    strips.push_back({pyramid.rank.value_or(kNoRank), pyramid.track, std::move(strip)});
  }
  return strips;
}

}  // namespace spscope
