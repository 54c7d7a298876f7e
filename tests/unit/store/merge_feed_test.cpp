// Pyramids that a merge makes while events track by are, byte by byte, those that are made of all events at once; and
// the memory of a merge does not grow with its events.
#include "backend/store/merge/merge_feed.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <numeric>

#include "backend/store/merge/merge_shards.h"
#include "backend/store/pyramid/lod_codec.h"
#include "tests/unit/store/lod_brute_force.h"
#include "tests/unit/store/sample_shards.h"

namespace spscope {
namespace {

using testing::MergedFile;
using testing::random_events;
using testing::RankShard;

// A row of lod_level or lod_strip.
struct Row {
  std::int64_t pyramid = 0, shift = 0, first = 0, buckets = 0;
  std::vector<std::uint8_t> data;
  bool operator==(const Row&) const = default;
};

std::vector<Row> rows_of(Database& db, const std::string& table) {
  std::vector<Row> rows;
  Statement select(db, "SELECT pyramid_id, shift, first_bucket, num_buckets, data FROM " + table + " ORDER BY 1, 2, 3");
  while (select.step()) {
    const std::span<const std::uint8_t> data = select.blob(4);
    rows.push_back(
        {select.integer(0), select.integer(1), select.integer(2), select.integer(3), {data.begin(), data.end()}});
  }
  return rows;
}

// What a pyramid of these events has to look like in the file: the base level of all events at once, every wider level
// straight from the base, and each cut into rows.
struct WantedPyramids {
  std::vector<Row> levels, strips;

  void add(std::int64_t pyramid, const std::vector<SpanEvent>& events, int tracks, std::int64_t until_ns,
           int first_stored) {
    std::int64_t first_ns = kNeverEnded, last_ns = std::numeric_limits<std::int64_t>::min();
    for (const SpanEvent& event : events) {
      first_ns = std::min(first_ns, event.begin_ns);
      last_ns = std::max({last_ns, event.begin_ns, event.end_ns == kNeverEnded ? until_ns : event.end_ns});
    }
    LodLevel base = make_lod_level(lod_base_shift(std::ssize(events) / tracks, first_ns, last_ns), first_ns, last_ns);
    add_events(base, events, until_ns);
    first_stored += base.shift;
    for (int shift = base.shift;; ++shift) {
      const std::int64_t first = first_ns >> shift, end = (last_ns >> shift) + 1;
      const LodLevel level{shift, first, lod_answer(base, shift, first, end, until_ns)};
      add_rows(pyramid, level, lod_strip(level), kMaxStripBlock, strips, [](const auto& block) {
        return std::ranges::all_of(block, [](auto byte) { return byte == 0; }) ? std::vector<std::uint8_t>()
                                                                               : encode_strip_block(block);
      });
      if (shift < first_stored || (shift - first_stored) % 2 != 0) continue;
      std::int64_t at = first;
      add_rows(pyramid, level, level.buckets, kMaxLevelBlock, levels, [&](const auto& block) {
        const std::int64_t block_first = std::exchange(at, at + std::ssize(block));
        return std::ranges::all_of(block, [](const LodBucket& b) { return b == LodBucket(); })
                   ? std::vector<std::uint8_t>()
                   : encode_level_block(shift, block_first, block);
      });
      if (end - first <= 2) return;
    }
  }

 private:
  template <typename Value, typename Encode>
  static void add_rows(std::int64_t pyramid, const LodLevel& level, const std::vector<Value>& values, int most,
                       std::vector<Row>& rows, const Encode& encode) {
    for (std::size_t at = 0; at < values.size(); at += static_cast<std::size_t>(most)) {
      const auto block = std::span(values).subspan(at, std::min(static_cast<std::size_t>(most), values.size() - at));
      const std::vector<std::uint8_t> data = encode(block);
      if (!data.empty())
        rows.push_back(
            {pyramid, level.shift, level.first_bucket + static_cast<std::int64_t>(at), std::ssize(block), data});
    }
  }
};

// A track whose events are spans, but one of `one_in` a collective. Chunks of spans come first, those of collectives
// after them, whatever their times.
void add_mixed(RankShard& shard, RunId run, TrackId track, const std::vector<SpanEvent>& events, std::int64_t one_in,
               Rng& rng) {
  std::vector<SpanEvent> spans;
  std::vector<CollectiveEvent> collectives;
  for (const SpanEvent& event : events)
    if (rng.below(one_in) == 0)
      collectives.push_back({.span = event});
    else
      spans.push_back(event);
  shard.add_events(run, track, spans, static_cast<std::size_t>(1 + rng.below(kMaxChunkEvents)));
  shard.add_events(run, track, collectives, static_cast<std::size_t>(1 + rng.below(kMaxChunkEvents)));
}

void shuffle(std::vector<SpanEvent>& events, Rng& rng) {
  for (std::int64_t i = std::ssize(events); i-- > 1;)
    std::swap(events[static_cast<std::size_t>(i)], events[static_cast<std::size_t>(rng.below(i + 1))]);
}

// Two ranks, each with a dense track, one of few long events with gaps, an empty one, and one whose events overlap and
// come in no order; and a device stream that names the rank.
std::vector<std::string> write_shards(const TemporaryFolder& folder, Rng& rng, int most_events) {
  std::vector<std::string> shards = {folder / "a.head.db"};
  const RunId run = testing::write_head(shards.front(), {{0, {.raw_zero_ns = 100}}, {1, {.offset_ns = 7'000}}});
  const auto count = [&](int most) { return 1 + static_cast<int>(rng.below(most)); };
  for (int rank = 0; rank < 2; ++rank) {
    RankShard shard(shards.emplace_back(folder / ("a.rank-" + std::to_string(rank) + ".db")), rank);
    for (int lane = 0; lane < 4; ++lane)
      shard.add_track({TrackId{lane + 1}, rank, lane, lane == 3 ? 64 : 0, lane == 3});
    const auto dense = random_events(rng, {.count = count(most_events), .largest_bits = 9, .unfinished = false});
    add_mixed(shard, run, TrackId{1}, dense, 2 + rng.below(400), rng);
    add_mixed(shard, run, TrackId{2}, random_events(rng, {.count = count(60), .largest_bits = 19}), 3, rng);
    auto overlapping = random_events(rng, {.count = count(3'000), .largest_bits = 14, .overlapping = true});
    shuffle(overlapping, rng);
    if (rng.below(4) > 0) add_mixed(shard, run, TrackId{4}, overlapping, 2, rng);
    shard.add_track({.track_id = TrackId{5}, .rank = rank, .kind = TrackKind::kDeviceStream, .name = "stream 7"});
    add_mixed(shard, kNoRun, TrackId{5}, random_events(rng, {.count = count(2'000), .largest_bits = 16}), 4, rng);
    shard.commit();
  }
  return shards;
}

void expect_pyramids_of_all_events_at_once(const TemporaryFolder& folder, Rng& rng, int most_events) {
  const std::vector<std::string> shards = write_shards(folder, rng, most_events);
  OutputFile out(folder / "out.db", true);
  merge_shards(out, shards, {});
  MergedFile file(folder / "out.db");
  const std::int64_t until_ns = file.number("SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'recorded_until_ns'");
  WantedPyramids wanted;
  std::int64_t pyramid = 0;
  for (int rank = 0; rank < 2; ++rank) {
    std::vector<SpanEvent> all;
    for (int lane = 0; lane < 4; ++lane) {
      const std::vector<SpanEvent> events = file.events(rank, lane);
      if (lane < 3 && !events.empty()) wanted.add(++pyramid, events, 1, until_ns, 2);
      all.insert(all.end(), events.begin(), events.end());
    }
    const std::vector<SpanEvent> stream = file.events_of("s.lane IS NULL AND s.rank = " + std::to_string(rank));
    wanted.add(++pyramid, stream, 1, until_ns, 2);
    wanted.add(++pyramid, all, 4, until_ns, 2);  // of the lanes
  }
  EXPECT_EQ(file.number("SELECT count(*) FROM pyramid"), pyramid);
  EXPECT_TRUE(rows_of(file.db, "lod_level") == wanted.levels);
  EXPECT_TRUE(rows_of(file.db, "lod_strip") == wanted.strips);
}

TEST(MergeFeed, PyramidsAreThoseOfAllEventsAtOnce) {
  Rng rng(1);
  for (int round = 0; round < 15; ++round) {
    const TemporaryFolder folder;
    SCOPED_TRACE(round);
    expect_pyramids_of_all_events_at_once(folder, rng, 20'000);
  }
}

TEST(MergeFeed, LevelsOfManyRowsAreThoseOfAllEventsAtOnce) {
  const TemporaryFolder folder;
  Rng rng(9);
  const std::vector<std::string> shards = write_shards(folder, rng, 100);
  {
    RankShard shard(folder / "a.rank-2.db", 2);
    shard.add_track({TrackId{1}, 2, 0, 0, false});
    const RunId run{1};
    add_mixed(shard, run, TrackId{1}, random_events(rng, {.count = 1'200'000, .largest_bits = 5, .unfinished = false}),
              1'000, rng);
    shard.commit();
  }
  OutputFile out(folder / "out.db", true);
  merge_shards(out, std::vector<std::string>{shards.front(), folder / "a.rank-2.db"}, {});
  MergedFile file(folder / "out.db");
  const std::int64_t until_ns = file.number("SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'recorded_until_ns'");
  WantedPyramids wanted;
  for (const std::int64_t pyramid : {1, 2}) wanted.add(pyramid, file.events(2, 0), 1, until_ns, 2);
  EXPECT_GT(file.number("SELECT count(*) FROM lod_strip GROUP BY pyramid_id, shift ORDER BY 1 DESC"), 1);
  EXPECT_GT(file.number("SELECT count(*) FROM lod_level GROUP BY pyramid_id, shift ORDER BY 1 DESC"), 1);
  EXPECT_TRUE(rows_of(file.db, "lod_level") == wanted.levels);
  EXPECT_TRUE(rows_of(file.db, "lod_strip") == wanted.strips);
}

// The largest size of this process so far.
double peak_mb() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) * 1024e-6;
  return 0;
}

// What merging so many events of one rank adds to the size of a process.
double added_mb(std::int64_t num_events) {
  const TemporaryFolder folder;
  const RunId run = testing::write_head(folder / "a.head.db", {{0, {}}});
  {
    RankShard shard(folder / "a.rank-0.db", 0);
    shard.add_track({TrackId{1}, 0, 0, 0, false});
    std::vector<SpanEvent> events(kMaxChunkEvents);
    for (std::int64_t at = 0; at < num_events;) {
      for (SpanEvent& event : events) {
        event = {.begin_ns = 1'000 * at, .end_ns = 1'000 * at + 900, .op_id = at % 100};
        ++at;
      }
      shard.add_events(run, TrackId{1}, events, events.size());
    }
    shard.commit();
  }
  const pid_t child = ::fork();
  if (child == 0) {
    const double before = peak_mb();
    OutputFile out(folder / "out.db", false);
    merge_shards(out, std::vector<std::string>{folder / "a.head.db", folder / "a.rank-0.db"}, {});
    std::ofstream(folder / "added") << peak_mb() - before;
    ::_exit(0);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  double added = -1;
  std::ifstream(folder / "added") >> added;
  EXPECT_GT(added, 0);
  return added;
}

TEST(MergeFeed, MemoryDoesNotGrowWithTheEvents) {
#ifdef SPSCOPE_SANITIZED
  GTEST_SKIP() << "a sanitizer keeps memory that was given back";
#endif
  EXPECT_LT(added_mb(2'000'000), added_mb(500'000) + 10);  // 24 bytes an event would be 36 more
}

}  // namespace
}  // namespace spscope
