// Pyramids that a merge makes of a track whose levels take many rows, and the memory of a merge, which does not grow
// with its events.
#include "backend/store/merge/merge_feed.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "backend/store/merge/merge_shards.h"
#include "backend/store/store_reader.h"
#include "tests/unit/store/lod_brute_force.h"
#include "tests/unit/store/sample_shards.h"

namespace spscope {
namespace {

using testing::RankShard;

// Spans first and then every thousandth event as a collective, whatever their times. That a pyramid of all events at
// once is right, brute force says (lod_store_test.cpp).
TEST(MergeFeed, LevelsOfManyRowsAreThoseOfAllEventsAtOnce) {
  const TemporaryFolder folder;
  const std::vector<std::string> shards = {folder / "a.head.db", folder / "a.rank-0.db"};
  const RunId run = testing::write_head(shards[0], {{0, {}}});
  Rng rng(9);
  std::vector<SpanEvent> spans;
  std::vector<CollectiveEvent> collectives;
  for (const SpanEvent& event :
       testing::random_events(rng, {.count = 1'200'000, .largest_bits = 5, .unfinished = false}))
    if (rng.below(1'000) == 0)
      collectives.push_back({.span = event, .transfer_begin_ns = std::numeric_limits<std::int64_t>::min()});
    else
      spans.push_back(event);
  {
    RankShard shard(shards[1], 0);
    shard.add_track({TrackId{1}, 0, 0, 0, false});
    shard.add_events(run, TrackId{1}, spans, 3'000);
    shard.add_events(run, TrackId{1}, collectives, 700);
    shard.commit();
  }
  OutputFile out(folder / "out.db", true);
  merge_shards(out, shards, {});
  const StoreReader reader(folder / "out.db");
  EXPECT_GT(
      std::stoi(*reader.query("SELECT max(n) FROM (SELECT count(*) AS n FROM lod_strip GROUP BY pyramid_id, shift)")
                     .rows[0][0]),
      1);
  const std::vector<SpanEvent> events = reader.events().spans(TrackId{1});
  ASSERT_EQ(events.size(), 1'200'000u);
  const std::int64_t until_ns = testing::last_moment(events);
  for (const StoredPyramid& pyramid : reader.lod().pyramids())
    for (int shift = pyramid.base_shift; shift < 45; shift += 2) {
      LodLevel wanted = make_lod_level(shift, events.front().begin_ns, events.back().end_ns);
      add_events(wanted, events, until_ns);
      ASSERT_TRUE(reader.lod().strip(pyramid, shift, wanted.first_bucket,
                                     wanted.first_bucket + std::ssize(wanted.buckets)) == lod_strip(wanted))
          << shift;
    }
}

// The largest size of this process so far.
double peak_mb() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024e-6;
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
