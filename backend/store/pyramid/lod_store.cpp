#include "backend/store/pyramid/lod_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <string>
#include <utility>

#include "backend/base/check.h"
#include "backend/store/chunk/event_reader.h"
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

// The levels of a track, from its base to the widest.
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
        insert_track(db, "INSERT INTO lod_track (track_id, rank, stream_id, base_shift) VALUES (?, ?, ?, ?)"),
        insert_level(db,
                     "INSERT INTO lod_level (track_id, shift, first_bucket, num_buckets, data) VALUES (?, ?, ?, ?, ?)"),
        insert_strip(
            db, "INSERT INTO lod_strip (track_id, shift, first_bucket, num_buckets, data) VALUES (?, ?, ?, ?, ?)") {}

  void write_block(std::int64_t track, OpenLevel& level) {
    if (!std::all_of(level.block.begin(), level.block.end(), is_empty)) {
      const std::int64_t first = level.next - std::ssize(level.block);
      const std::vector<std::uint8_t> data = encode_level_block(level.range.shift, first, level.block);
      insert_level.run(track, level.range.shift, first, level.block.size(), std::span<const std::uint8_t>(data));
    }
    level.block.clear();
  }

  void write_strip(std::int64_t track, OpenLevel& level) {
    if (!std::all_of(level.strip.begin(), level.strip.end(), [](std::uint8_t byte) { return byte == 0; })) {
      const std::vector<std::uint8_t> data = encode_strip_block(level.strip);
      insert_strip.run(track, level.range.shift, level.next - std::ssize(level.strip), level.strip.size(),
                       std::span<const std::uint8_t>(data));
    }
    level.strip.clear();
  }

  void append(std::int64_t track, OpenLevel& level, std::span<const LodBucket> buckets) {
    for (const LodBucket& bucket : buckets) {
      const bool last = level.next++ == level.range.last_bucket;
      level.strip.push_back(lod_strip_byte(bucket, level.range.shift));
      if (last || level.strip.size() == kMaxStripBlock) write_strip(track, level);
      if (!level.stored) continue;
      level.block.push_back(bucket);
      if (last || level.block.size() == kMaxLevelBlock) write_block(track, level);
    }
  }

  std::int64_t recorded_until_ns;
  Statement insert_track, insert_level, insert_strip;
  std::map<std::int64_t, std::vector<OpenLevel>> tracks;
};

LodWriter::LodWriter(Database& db, std::int64_t recorded_until_ns)
    : state_(std::make_unique<State>(db, recorded_until_ns)) {
  Statement(db, "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)")
      .run(kRecordedUntil, std::to_string(recorded_until_ns));
}
LodWriter::~LodWriter() = default;

void LodWriter::open(std::int64_t track_id, int rank, std::optional<StreamId> stream, const LodRange& base) {
  state_->insert_track.run(track_id, rank, stream, base.shift);
  state_->tracks[track_id] = open_levels(base, base.shift + kFirstStored);
}

void LodWriter::append(std::int64_t track_id, std::span<const LodBucket> base) {
  const auto track = state_->tracks.find(track_id);
  SPSCOPE_CHECK(track != state_->tracks.end());
  std::vector<LodBucket> folded;
  for (OpenLevel& level : track->second) {
    std::vector<LodBucket> wider = level.fold(base, state_->recorded_until_ns);
    state_->append(track_id, level, base);
    folded = std::move(wider);
    base = folded;
  }
  const OpenLevel& finest = track->second.front();
  if (finest.next > finest.range.last_bucket) state_->tracks.erase(track);
}

struct LodReader::State {
  explicit State(Database& db) : db(db), events(db) {
    Statement until(db, "SELECT value FROM main.meta WHERE key = ?");
    if (until.bind_all(kRecordedUntil).step()) {
      const std::string text = until.text(0);
      std::from_chars(text.data(), text.data() + text.size(), recorded_until_ns);
    }
    Statement rows(db,
                   "SELECT track_id, rank, stream_id, base_shift, "
                   "(SELECT min(shift) FROM main.lod_level l WHERE l.track_id = t.track_id), "
                   "(SELECT max(shift) FROM main.lod_level l WHERE l.track_id = t.track_id), "
                   "(SELECT max(shift) FROM main.lod_strip s WHERE s.track_id = t.track_id) "
                   "FROM main.lod_track t ORDER BY rank, stream_id");
    while (rows.step()) {
      LodTrack& track = tracks.emplace_back();
      track.track_id = rows.integer(0);
      track.rank = rows.count(1);
      if (!rows.is_null(2)) track.stream = StreamId{rows.integer(2)};
      track.base_shift = static_cast<int>(rows.integer(3, 0, kMaxLodShift));
      const auto shift = [&](int column) { return static_cast<int>(rows.integer(column, 0, kMaxLodShift)); };
      if (!rows.is_null(4)) levels[track.track_id] = {shift(4), shift(5)};
      if (!rows.is_null(6)) widest_strip[track.track_id] = shift(6);
    }
    for (const Stream& stream : events.streams()) streams_of_rank[stream.rank].push_back(stream.stream_id);
  }

  // The widest stored shift of at most `shift`; absent when the answer has to come from events.
  std::optional<int> stored_shift(const LodTrack& track, int shift) const {
    const auto found = levels.find(track.track_id);
    if (found == levels.end() || shift < found->second.first) return std::nullopt;
    const auto [first, widest] = found->second;
    return first + (std::min(shift, widest) - first) / kFanOutShift * kFanOutShift;
  }

  void count_events(const LodTrack& track, LodLevel& level) const {
    const EventWindow window{lod_begin_ns(level.first_bucket, level.shift),
                             lod_begin_ns(level.first_bucket + std::ssize(level.buckets), level.shift)};
    if (track.stream) return add_events(level, events.spans(*track.stream, window), recorded_until_ns);
    const auto streams = streams_of_rank.find(track.rank);
    if (streams == streams_of_rank.end()) return;
    for (const StreamId stream : streams->second) add_events(level, events.spans(stream, window), recorded_until_ns);
  }

  // Adds what the stored blocks of a shift know to the answer.
  void fold_blocks(const LodTrack& track, int stored, LodLevel& answer) const {
    const int finer = answer.shift - stored;
    const std::int64_t first = answer.first_bucket, end = first + std::ssize(answer.buckets);
    Statement rows(db,
                   "SELECT first_bucket, num_buckets, data FROM main.lod_level WHERE track_id = ? AND shift = ? "
                   "AND first_bucket >> ? < ? AND (first_bucket + num_buckets - 1) >> ? >= ?");
    rows.bind_all(track.track_id, stored, finer, end, finer, first);
    while (rows.step()) {
      const LodLevel block{stored, rows.integer(0),
                           decode_level_block(stored, rows.integer(0), rows.integer(1), rows.blob(2))};
      const std::vector<LodBucket> part = lod_answer(block, answer.shift, first, end, recorded_until_ns);
      for (std::size_t i = 0; i < part.size(); ++i) merge_bucket(answer.buckets[i], part[i], recorded_until_ns);
    }
  }

  LodLevel answer(const LodTrack& track, int shift, std::int64_t first, std::int64_t end) const {
    SPSCOPE_CHECK(track.base_shift <= shift && shift <= kMaxLodShift && first <= end);
    LodLevel level{shift, first, std::vector<LodBucket>(static_cast<std::size_t>(end - first))};
    if (const std::optional<int> stored = stored_shift(track, shift))
      fold_blocks(track, *stored, level);
    else
      count_events(track, level);
    return level;
  }

  Database& db;
  EventReader events;
  std::int64_t recorded_until_ns = 0;
  std::vector<LodTrack> tracks;
  std::map<std::int64_t, std::pair<int, int>> levels;  // by track: the first and the widest stored shift
  std::map<std::int64_t, int> widest_strip;            // by track
  std::map<int, std::vector<StreamId>> streams_of_rank;
};

LodReader::LodReader(Database& db) : state_(std::make_unique<State>(db)) {}
LodReader::~LodReader() = default;
LodReader::LodReader(LodReader&&) noexcept = default;
LodReader& LodReader::operator=(LodReader&&) noexcept = default;

const std::vector<LodTrack>& LodReader::tracks() const { return state_->tracks; }

std::vector<LodBucket> LodReader::buckets(const LodTrack& track, int shift, std::int64_t first,
                                          std::int64_t end) const {
  return state_->answer(track, shift, first, end).buckets;
}

std::vector<std::uint8_t> LodReader::strip(const LodTrack& track, int shift, std::int64_t first,
                                           std::int64_t end) const {
  const auto widest = state_->widest_strip.find(track.track_id);
  if (widest == state_->widest_strip.end() || shift > widest->second)
    return lod_strip(state_->answer(track, shift, first, end));
  SPSCOPE_CHECK(track.base_shift <= shift && first <= end);
  std::vector<std::uint8_t> strip(static_cast<std::size_t>(end - first));
  Statement rows(state_->db,
                 "SELECT first_bucket, num_buckets, data FROM main.lod_strip WHERE track_id = ? AND shift = ? "
                 "AND first_bucket < ? AND first_bucket + num_buckets > ?");
  rows.bind_all(track.track_id, shift, end, first);
  while (rows.step()) {
    const std::int64_t block_first = rows.integer(0);
    const std::vector<std::uint8_t> block = decode_strip_block(rows.integer(1), rows.blob(2));
    const std::int64_t from = std::max(first, block_first), to = std::min(end, block_first + std::ssize(block));
    for (std::int64_t k = from; k < to; ++k)
      strip[static_cast<std::size_t>(k - first)] = block[static_cast<std::size_t>(k - block_first)];
  }
  return strip;
}

}  // namespace spscope
