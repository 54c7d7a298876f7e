// Rows of the timeline of a whole file: ranks with the tracks that name them, against the events and strips that the
// file has of each.
#include "gui/views/timeline/file_data.h"

#include <gtest/gtest.h>

#include "tests/unit/store/two_ranks.h"

namespace spscope::gui {
namespace {

class FileRows : public spscope::testing::TwoRanks {
 protected:
  // Two ranks with a stream each, and a thread that names no rank.
  std::string file() {
    write_ranks();
    write_streams();
    {
      spscope::testing::RankShard shard(folder_ / "a.thread.db", -1);
      shard.add_track({.track_id = TrackId{1}, .kind = TrackKind::kHostThread, .name = "loader"});
      std::vector<SpanEvent> spans;
      for (std::int64_t i = 0; i < 40; ++i) spans.push_back({kRawZero + 50 * i, kRawZero + 50 * i + 20});
      shard.add_events(kNoRun, TrackId{1}, spans, 100);
      shard.commit();
    }
    std::vector<std::string> all = shards();
    all.insert(all.end(), {stream_of(0), stream_of(1), folder_ / "a.thread.db"});
    spscope::testing::merge(folder_ / "out.db", all);
    return folder_ / "out.db";
  }
};

TEST_F(FileRows, TracksStandBehindTheRankThatTheyName) {
  const StoreReader store(file());
  const FileTimes times = load_file_times(store);
  EXPECT_EQ(times.why_none, "");
  std::vector<std::string> labels;
  for (const FileRank& row : times.ranks) labels.push_back(row.label);
  EXPECT_EQ(labels, (std::vector<std::string>{"rank 0", "stream 7", "rank 1", "stream 7", "loader"}));
  EXPECT_EQ(times.num_ranks(), 2);
  EXPECT_EQ(times.ranks[3].rank, 1);
  EXPECT_EQ(times.ranks[4].rank, kNoRank);
  // Kernels are compute: 2,000 of 9 ns.
  EXPECT_NEAR(static_cast<double>(times.ranks[1].compute_ns), 2'000 * 9, 2'000);
  EXPECT_EQ(times.ranks[1].other_ns, 0);

  const FileEvents found = load_file_events(store, times.ranks, EventWindow{}, times.end_ns);
  ASSERT_EQ(found.rows.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) {
    const FileRank& row = times.ranks[i];
    std::size_t wanted = 0;
    for (const Track& track : store.events().tracks())
      if (row.track ? track.track_id == *row.track : track.rank == row.rank && track.lane)
        wanted += store.events().spans(track.track_id).size();
    const auto of_row = [&](const RankEvent& e) { return e.rank == row.rank && e.track == row.track; };
    EXPECT_EQ(static_cast<std::size_t>(std::ranges::count_if(found.events, of_row)), wanted) << row.label;
    for (const TimeSpan& span : found.rows[i])
      ASSERT_TRUE(of_row(found.events[static_cast<std::size_t>(span.op)])) << row.label;
  }
  EXPECT_EQ(times.place_of(found.events.front()), "loader");  // those of no rank come first
  EXPECT_EQ(times.place_of(found.events.back()), "stream 7, rank 1");
}

TEST_F(FileRows, StripsAreThoseOfTheirPyramids) {
  const StoreReader store(file());
  const FileTimes times = load_file_times(store);
  const std::vector<RankStrip> strips = store.lod().rank_strips(times.coarsest_base + 1, 0, 64);
  ASSERT_EQ(strips.size(), times.ranks.size());
  for (std::size_t i = 0; i < strips.size(); ++i) {
    EXPECT_EQ(strips[i].rank, times.ranks[i].rank);
    EXPECT_EQ(strips[i].track, times.ranks[i].track);
    for (const StoredPyramid& pyramid : store.lod().pyramids()) {
      if (pyramid.track != strips[i].track || pyramid.rank.value_or(kNoRank) != strips[i].rank) continue;
      EXPECT_EQ(strips[i].strip, store.lod().strip(pyramid, times.coarsest_base + 1, 0, 64));
    }
  }
}

}  // namespace
}  // namespace spscope::gui
