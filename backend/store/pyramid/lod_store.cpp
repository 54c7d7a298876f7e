#include "backend/store/pyramid/lod_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "backend/base/check.h"
#include "backend/record/rank_records.h"
#include "backend/store/chunk/event_reader.h"
#include "backend/store/chunk/stored_chunk.h"
#include "backend/store/pyramid/lod_codec.h"
#include "backend/store/sqlite/sqlite.h"

namespace spscope {

namespace {

constexpr int kFanOutShift = 2;  // every second shift is stored
constexpr int kFirstStored = 2;  // above the base shift: the first that is stored

bool is_empty(const LodBucket& bucket) { return !bucket.longest; }

// A level whose buckets come in order.
struct OpenLevel {
  LodRange range;
  bool stored = false;
  std::int64_t next = 0;            // bucket
  std::vector<LodBucket> block;     // that are not written, when the level is stored
  std::vector<std::uint8_t> strip;  // the same of the strip
  LodBucket wider;                  // what is known of the bucket of the next shift that holds `next`

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
std::vector<OpenLevel> open_levels(LodRange range, int first_stored) {
  std::vector<OpenLevel> levels;
  for (;; range = {range.shift + 1, range.first_bucket >> 1, range.last_bucket >> 1}) {
    OpenLevel& level = levels.emplace_back();
    level.range = range;
    level.next = range.first_bucket;
    level.stored = range.shift >= first_stored && (range.shift - first_stored) % kFanOutShift == 0;
    // Two buckets may meet at zero, which no wider bucket joins.
    if ((level.stored && range.last_bucket - range.first_bucket < 2) || range.shift == kMaxLodShift) return levels;
  }
}

}  // namespace

struct LodWriter::State {
  State(Database& db, std::int64_t recorded_until_ns)
      : recorded_until_ns(recorded_until_ns),
        insert_pyramid(db, "INSERT INTO pyramid (pyramid_id, rank, track_id, base_shift) VALUES (?, ?, ?, ?)"),
        insert_level(
            db, "INSERT INTO lod_level (pyramid_id, shift, first_bucket, num_buckets, data) VALUES (?, ?, ?, ?, ?)"),
        insert_strip(
            db, "INSERT INTO lod_strip (pyramid_id, shift, first_bucket, num_buckets, data) VALUES (?, ?, ?, ?, ?)") {}

  void write_block(std::int64_t pyramid, OpenLevel& level) {
    if (!std::all_of(level.block.begin(), level.block.end(), is_empty)) {
      const std::int64_t first = level.next - std::ssize(level.block);
      const std::vector<std::uint8_t> data = encode_level_block(level.range.shift, first, level.block);
      insert_level.run(pyramid, level.range.shift, first, level.block.size(), std::span<const std::uint8_t>(data));
    }
    level.block.clear();
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
      const bool last = level.next++ == level.range.last_bucket;
      level.strip.push_back(lod_strip_byte(bucket, level.range.shift));
      if (last || level.strip.size() == kMaxStripBlock) write_strip(pyramid, level);
      if (!level.stored) continue;
      level.block.push_back(bucket);
      if (last || level.block.size() == kMaxLevelBlock) write_block(pyramid, level);
    }
  }

  std::int64_t recorded_until_ns;
  Statement insert_pyramid, insert_level, insert_strip;
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
  state_->pyramids[pyramid_id] = open_levels(base, base.shift + kFirstStored);
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

struct LodReader::State {
  explicit State(Database& db) : db(db) {
    Statement until(db, "SELECT value FROM main.meta WHERE key = ?");
    if (until.bind_all(kRecordedUntil).step()) {
      const std::string text = until.text(0);
      std::from_chars(text.data(), text.data() + text.size(), recorded_until_ns);
    }
    Statement rows(db,
                   "SELECT pyramid_id, rank, track_id, base_shift, "
                   "(SELECT min(shift) FROM main.lod_level l WHERE l.pyramid_id = t.pyramid_id), "
                   "(SELECT max(shift) FROM main.lod_level l WHERE l.pyramid_id = t.pyramid_id), "
                   "(SELECT max(shift) FROM main.lod_strip s WHERE s.pyramid_id = t.pyramid_id) "
                   "FROM main.pyramid t ORDER BY rank IS NULL, rank, track_id");
    while (rows.step()) {
      StoredPyramid& pyramid = pyramids.emplace_back();
      pyramid.pyramid_id = rows.integer(0);
      if (!rows.is_null(1)) pyramid.rank = rows.count(1);
      if (!rows.is_null(2)) pyramid.track = TrackId{rows.integer(2)};
      pyramid.base_shift = static_cast<int>(rows.integer(3, 0, kMaxLodShift));
      const auto shift = [&](int column) { return static_cast<int>(rows.integer(column, 0, kMaxLodShift)); };
      if (!rows.is_null(4)) levels[pyramid.pyramid_id] = {shift(4), shift(5)};
      if (!rows.is_null(6)) widest_strip[pyramid.pyramid_id] = shift(6);
    }
    for (const Track& track : EventReader(db).tracks()) {
      if (track.kind != TrackKind::kRankLane) continue;
      lanes_of_rank[*track.rank].push_back(track.track_id);
      lanes.insert(track.track_id);
    }
  }

  // The widest stored shift of at most `shift`; absent when the answer has to come from events.
  std::optional<int> stored_shift(const StoredPyramid& pyramid, int shift) const {
    const auto found = levels.find(pyramid.pyramid_id);
    if (found == levels.end() || shift < found->second.first) return std::nullopt;
    const auto [first, widest] = found->second;
    return first + (std::min(shift, widest) - first) / kFanOutShift * kFanOutShift;
  }

  void count_events(const StoredPyramid& pyramid, LodLevel& level) const {
    const EventWindow window{lod_begin_ns(level.first_bucket, level.shift),
                             lod_begin_ns(level.first_bucket + std::ssize(level.buckets), level.shift)};
    if (pyramid.track) return count_events(*pyramid.track, window, level);
    const auto lanes = pyramid.rank ? lanes_of_rank.find(*pyramid.rank) : lanes_of_rank.end();
    if (lanes == lanes_of_rank.end()) return;
    for (const TrackId track : lanes->second) count_events(track, window, level);
  }

  // What of the chunks lies outside of the window is outside of the level.
  void count_events(TrackId track, const EventWindow& window, LodLevel& level) const {
    std::vector<SpanEvent> spans;
    std::vector<CollectiveEvent> collectives;
    for_each_chunk(db, {.track_id = track, .window = window}, [&](const StoredChunk& chunk) {
      if (chunk.header.kind == RecordKind::kSpan || chunk.header.kind == RecordKind::kWork) {
        spans.clear();
        decode_spans(chunk.header, chunk.data, spans);
        add_events(level, spans, recorded_until_ns);
      } else if (chunk.header.kind == RecordKind::kCollective) {
        collectives.clear();
        decode_collectives(chunk.header, chunk.data, collectives);
        std::vector<LodEvent> counted;
        counted.reserve(collectives.size());
        std::transform(collectives.begin(), collectives.end(), std::back_inserter(counted), lod_event);
        add_events(level, counted, recorded_until_ns);
      }
    });
  }

  // Adds what the stored blocks of a shift know to the answer.
  void fold_blocks(const StoredPyramid& pyramid, int stored, LodLevel& answer) const {
    const int finer = answer.shift - stored;
    const std::int64_t first = answer.first_bucket, end = first + std::ssize(answer.buckets);
    Statement rows(db,
                   "SELECT first_bucket, num_buckets, data FROM main.lod_level WHERE pyramid_id = ? AND shift = ? "
                   "AND first_bucket >> ? < ? AND (first_bucket + num_buckets - 1) >> ? >= ?");
    rows.bind_all(pyramid.pyramid_id, stored, finer, end, finer, first);
    while (rows.step()) {
      const LodLevel block{stored, rows.integer(0),
                           decode_level_block(stored, rows.integer(0), rows.integer(1), rows.blob(2))};
      const std::vector<LodBucket> part = lod_answer(block, answer.shift, first, end, recorded_until_ns);
      for (std::size_t i = 0; i < part.size(); ++i) merge_bucket(answer.buckets[i], part[i], recorded_until_ns);
    }
  }

  LodLevel answer(const StoredPyramid& pyramid, int shift, std::int64_t first, std::int64_t end) const {
    SPSCOPE_CHECK(pyramid.base_shift <= shift && shift <= kMaxLodShift && first <= end);
    db.cancel_token().require_going();
    LodLevel level{shift, first, std::vector<LodBucket>(static_cast<std::size_t>(end - first))};
    if (const std::optional<int> stored = stored_shift(pyramid, shift))
      fold_blocks(pyramid, *stored, level);
    else
      count_events(pyramid, level);
    return level;
  }

  Database& db;
  std::int64_t recorded_until_ns = 0;
  std::vector<StoredPyramid> pyramids;
  std::map<std::int64_t, std::pair<int, int>> levels;  // by pyramid: the first and the widest stored shift
  std::map<std::int64_t, int> widest_strip;            // by pyramid
  std::map<int, std::vector<TrackId>> lanes_of_rank;
  std::set<TrackId> lanes;
};

LodReader::LodReader(Database& db) : state_(std::make_unique<State>(db)) {}
LodReader::~LodReader() = default;
LodReader::LodReader(LodReader&&) noexcept = default;
LodReader& LodReader::operator=(LodReader&&) noexcept = default;

const std::vector<StoredPyramid>& LodReader::pyramids() const { return state_->pyramids; }

std::vector<LodBucket> LodReader::buckets(const StoredPyramid& pyramid, int shift, std::int64_t first,
                                          std::int64_t end) const {
  return state_->answer(pyramid, shift, first, end).buckets;
}

std::vector<std::uint8_t> LodReader::strip(const StoredPyramid& pyramid, int shift, std::int64_t first,
                                           std::int64_t end) const {
  const auto widest = state_->widest_strip.find(pyramid.pyramid_id);
  if (widest == state_->widest_strip.end() || shift > widest->second)
    return lod_strip(state_->answer(pyramid, shift, first, end));
  SPSCOPE_CHECK(pyramid.base_shift <= shift && first <= end);
  state_->db.cancel_token().require_going();
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
