// Rows of the timeline of a whole file: ranks with the tracks that name them, against the events and strips that the
// file has of each.
#include "gui/views/timeline/file_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/unit/store/two_ranks.h"

namespace spscope::gui {
namespace {

class FileRows : public spscope::testing::TwoRanks {
 protected:
  static constexpr int kOperations = 40;
  static constexpr const char* kGpu = "GPU 0 at 0000:3B:00.0";
  // Two ranks with a stream each, a thread that names no rank, and of rank 0 operations of a communicator, which
  // overlap: 6 at once, while the first is alone at first; counters of its GPU, and one of no device.
  std::string file() {
    write_ranks();
    write_streams();
    write_collected();
    {
      spscope::testing::RankShard shard(folder_ / "a.thread.db", -1);
      shard.add_track({.track_id = TrackId{1}, .kind = TrackKind::kHostThread, .name = "loader"});
      std::vector<SpanEvent> spans;
      for (std::int64_t i = 0; i < 40; ++i) spans.push_back({kRawZero + 50 * i, kRawZero + 50 * i + 20});
      shard.add_events(kNoRun, TrackId{1}, spans, 100);
      shard.commit();
    }
    std::vector<std::string> all = shards();
    all.insert(all.end(), {stream_of(0), stream_of(1), folder_ / "a.thread.db", folder_ / "a.collected.db"});
    spscope::testing::merge(folder_ / "out.db", all);
    return folder_ / "out.db";
  }

  void write_collected() {
    spscope::testing::RankShard shard(folder_ / "a.collected.db", -1);
    shard.add_track(
        {.track_id = TrackId{1}, .rank = 0, .overlapping = true, .kind = TrackKind::kForeign, .name = "NCCL"});
    shard.add_string(1, "AllReduce");
    std::vector<CollectiveEvent> operations;
    for (std::int64_t i = 0; i < kOperations; ++i) {
      CollectiveEvent operation;
      operation.span = {kRawZero + 100 * i, kRawZero + 100 * i + 590, -1, 1, event_flags(EventCategory::kTransfer)};
      operation.transfer_begin_ns = operation.span.begin_ns + 30;
      operation.sequence = i;
      operation.bytes = 1'000 * i;
      operations.push_back(operation);
    }
    shard.add_events(kNoRun, TrackId{1}, operations, 7);
    const Track counters[] = {{.rank = 0, .kind = TrackKind::kCounter, .name = "GPU 0 power (W)", .device = kGpu},
                              {.rank = 0, .kind = TrackKind::kCounter, .name = "GPU 0 SM clock (MHz)", .device = kGpu},
                              {.kind = TrackKind::kCounter, .name = "batches"}};
    for (std::int64_t i = 0; i < 3; ++i) {
      Track track = counters[i];
      track.track_id = TrackId{i + 2};
      shard.add_track(track);
      std::vector<CounterSample> samples;
      for (std::int64_t n = 0; n < 30; ++n) samples.push_back({kRawZero + 100 * n, 100.0 * static_cast<double>(i) + n});
      shard.add_events(kNoRun, track.track_id, samples, 10);
    }
    shard.commit();
  }
};

TEST_F(FileRows, TracksStandBehindTheRankThatTheyName) {
  const StoreReader store(file());
  const FileTimes times = load_file_times(store);
  EXPECT_EQ(times.why_none, "");
  std::vector<std::string> labels;
  for (const FileRow& row : times.rows) labels.push_back(row.label);
  EXPECT_EQ(labels, (std::vector<std::string>{"rank 0", "stream 7", "NCCL", "", "", "", "GPU 0 counters", "power",
                                              "SM clock", "rank 1", "stream 7", "loader", "counters", "batches"}));
  EXPECT_EQ(times.rows[6].title, "GPU 0 at 0000:3B:00.0 counters");
  EXPECT_EQ(times.rows[6].unit, "power, SM clock");
  EXPECT_EQ(times.num_ranks(), 2);
  EXPECT_EQ(times.num_tracks(), 4);
  EXPECT_EQ(times.rows[10].rank, 1);
  EXPECT_EQ(times.rows[11].rank, kNoRank);
  for (const std::size_t i : {1u, 2u, 6u, 8u}) EXPECT_EQ(times.rows[i].owner, 0u) << i;
  EXPECT_EQ(times.rows[10].owner, 9u);
  // 2,000 kernels of 9 ns.
  EXPECT_NEAR(static_cast<double>(times.rows[1].busy(TimePart::kKernel)), 2'000 * 9, 2'000);
  EXPECT_EQ(times.rows[1].busy(TimePart::kOther), 0);
  EXPECT_EQ(times.parts, (std::vector{TimePart::kCompute, TimePart::kLatePeer, TimePart::kWire, TimePart::kOther,
                                      TimePart::kKernel, TimePart::kCopy, TimePart::kMemset, TimePart::kSynchronize,
                                      TimePart::kApi, TimePart::kOverhead, TimePart::kAnnotation, TimePart::kQueued}));

  const FileEvents found = load_file_events(store, times.rows, EventWindow{}, times.end_ns);
  ASSERT_EQ(found.rows.size(), times.rows.size());
  for (std::size_t i = 0; i < times.rows.size(); ++i) {
    const FileRow& row = times.rows[i];
    if (row.kind == FileRowKind::kCounter || row.kind == FileRowKind::kCounters) continue;
    std::size_t wanted = 0;
    for (const Track& track : store.events().tracks())
      if (row.track ? track.track_id == *row.track : track.rank == row.rank && track.lane)
        wanted += store.events().spans(track.track_id).size();
    const auto of_row = [&](const RowEvent& e) { return e.rank == row.rank && e.track == row.track; };
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
  const std::vector<RowStrip> strips = store.lod().row_strips(times.coarsest_base + 1, 0, 64);
  ASSERT_EQ(strips.size(), 6u);
  for (const FileRow& row : times.rows) {
    EXPECT_EQ(row.strip < 0, row.kind == FileRowKind::kCounter || row.kind == FileRowKind::kCounters);
    if (row.strip < 0) continue;
    const auto i = static_cast<std::size_t>(row.strip);
    EXPECT_EQ(strips[i].rank, row.rank);
    EXPECT_EQ(strips[i].track, row.track);
    for (const StoredPyramid& pyramid : store.lod().pyramids()) {
      if (pyramid.track != strips[i].track || pyramid.rank.value_or(kNoRank) != strips[i].rank) continue;
      EXPECT_EQ(strips[i].strip, store.lod().strip(pyramid, times.coarsest_base + 1, 0, 64));
    }
  }
}

// Six operations are under way at once: three have rows of their own, the others are told together.
TEST_F(FileRows, OperationsThatOverlapHaveRowsBelowEachOther) {
  const StoreReader store(file());
  const FileTimes times = load_file_times(store);
  const FileEvents found = load_file_events(store, times.rows, EventWindow{}, times.end_ns);
  std::vector<int> seen(found.events.size(), 0);
  for (std::size_t i = 2; i < 6; ++i) {
    EXPECT_EQ(times.rows[i].sub, static_cast<int>(i) - 2);
    EXPECT_EQ(times.rows[i].strip, times.rows[2].strip);
    std::int64_t until = std::numeric_limits<std::int64_t>::min();
    for (const TimeSpan& span : found.rows[i]) {
      EXPECT_GE(span.begin_ns, until);
      until = span.end_ns;
      if (span.hidden == 0) ++seen[static_cast<std::size_t>(span.op)];
    }
  }
  std::int64_t hidden = 0;
  for (const std::vector<OpId>& list : found.hidden) {
    EXPECT_GT(list.size(), 1u);
    hidden += std::ssize(list);
    for (const OpId event : list) ++seen[static_cast<std::size_t>(event)];
  }
  EXPECT_GT(hidden, kOperations / 3);
  int operations = 0;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const RowEvent& event = found.events[i];
    if (event.track != times.rows[2].track) continue;
    ++operations;
    // It was queued for 30 ns, then moved: two spans, or one of several.
    EXPECT_TRUE(seen[i] == 1 || seen[i] == 2) << i;
    EXPECT_EQ(event.bytes, 1'000 * event.sequence);
    EXPECT_EQ(event.wait_end_ns - event.wait_begin_ns, 30);
  }
  EXPECT_EQ(operations, kOperations);
  EXPECT_EQ(times.rows[2].busy(TimePart::kQueued), 30 * kOperations);
  EXPECT_EQ(times.rows[2].busy(TimePart::kLatePeer), 0);
  for (std::size_t i = 0; i < times.rows.size(); ++i)
    for (const TimeSpan& span : found.rows[i])
      ASSERT_FALSE(is_wait(span.part) && (span.part == TimePart::kQueued) != times.rows[i].track.has_value()) << i;
}

// Of programs that were observed no lanes say the rank: a heading says what all its tracks have in common, and counts
// events that are missing of tracks without a row.
TEST_F(FileRows, WhatHasNoLanesHasAHeading) {
  write_streams();
  const std::string programs[] = {"b.py (process 12)", "a.py (process 11)"};
  std::vector<std::string> all = {folder_ / "a.head.db", stream_of(0), stream_of(1)};
  for (const std::string& program : programs) {
    const bool first = program.starts_with("a");
    const std::string path = folder_ / (first ? "a.first.db" : "a.second.db");
    all.push_back(path);
    {
      spscope::testing::RankShard shard(path, -1);
      const Track tracks[] = {{.kind = TrackKind::kDeviceStream, .name = "stream 7", .device = first ? kGpu : "GPU 1"},
                              {.kind = TrackKind::kForeign, .name = "NCCL 0x0000000000005eed rank 3 of 8 (tp)"},
                              {.kind = TrackKind::kHostThread, .name = "thread 11: waits"}};
      for (std::int64_t i = 0; i < 3; ++i) {
        Track track = tracks[i];
        track.track_id = TrackId{i + 1};
        track.process = program;
        shard.add_track(track);
        std::vector<SpanEvent> spans;  // of the last one nothing is left
        for (std::int64_t n = 0; i < 2 && n < 20; ++n) spans.push_back({kRawZero + 10 * n, kRawZero + 10 * n + 5});
        shard.add_events(kNoRun, track.track_id, spans, 50);
      }
      shard.commit();
      shard.writer().database().execute("UPDATE ledger SET sent = 5, dropped = 5 WHERE track_id = 3; COMMIT; BEGIN");
    }
  }
  spscope::testing::merge(folder_ / "out.db", all);
  const StoreReader store(folder_ / "out.db");
  const FileTimes times = load_file_times(store);
  std::vector<std::string> labels, titles;
  for (const FileRow& row : times.rows) {
    labels.push_back((row.headed ? "- " : "") + row.label);
    titles.push_back(row.title);
  }
  EXPECT_EQ(labels, (std::vector<std::string>{"rank 0", "- stream 7", "rank 1", "- stream 7", "process 11, GPU 0",
                                              "- stream 7", "- NCCL tp, rank 3 of 8", "process 12, GPU 1", "- stream 7",
                                              "- NCCL tp, rank 3 of 8"}));
  EXPECT_EQ(titles[1], "rank 0, stream 7");
  EXPECT_EQ(titles[5], "stream 7, GPU 0 at 0000:3B:00.0, a.py (process 11)");
  EXPECT_EQ(titles[6], "NCCL 0x0000000000005eed rank 3 of 8 (tp), a.py (process 11)");
  EXPECT_EQ(times.rows[4].unit, "a.py (process 11)");
  for (std::size_t i = 0; i < times.rows.size(); ++i) {
    EXPECT_EQ(times.rows[i].kind == FileRowKind::kGroup, !times.rows[i].headed) << i;
    EXPECT_EQ(times.rows[i].missing, i == 4 || i == 7 ? 5 : 0) << i;
  }
  EXPECT_EQ(times.num_ranks(), 0);
  EXPECT_EQ(load_file_events(store, times.rows, EventWindow{}, times.end_ns).rows.size(), times.rows.size());
}

TEST_F(FileRows, CountersAreThoseOfTheirHeading) {
  const StoreReader store(file());
  const FileTimes times = load_file_times(store);
  EXPECT_EQ(times.rows[6].unit, "power, SM clock");
  EXPECT_EQ(times.rows[7].unit, "W");
  const FileCounters counters = load_file_counters(store, times.rows, 6);
  ASSERT_EQ(counters.size(), 2u);
  const CounterSeries& clock = counters.at(*times.rows[8].track);
  EXPECT_EQ(clock.least(), 100);
  EXPECT_EQ(clock.most(), 129);
  const std::vector<CounterSample> samples = store.events().counters(*times.rows[8].track);
  ASSERT_EQ(samples.size(), 30u);
  for (const CounterSample& sample : samples) EXPECT_EQ(clock.at(sample.time_ns)->last, sample.value);
  EXPECT_TRUE(load_file_counters(store, times.rows, 0).empty());
}

}  // namespace
}  // namespace spscope::gui
