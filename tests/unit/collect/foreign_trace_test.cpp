// The trace of another program: tracks without ranks, events without a run, and a counter. What was recorded of it is
// merged with a run, recovered without one, asked by SQL and exported. Its process is killed in tests/inject.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "backend/collect/shard_writer.h"
#include "backend/exchange/export.h"
#include "backend/store/merge/merge_shards.h"
#include "backend/store/store_reader.h"
#include "tests/unit/store/sample_shards.h"

namespace spscope {
namespace {

constexpr ClockFit kClock{.raw_zero_ns = 1'000, .offset_ns = 70'000};
constexpr std::int64_t kShift = 70'000 - 1'000;  // from the clock of the trace to the run clock
constexpr std::int64_t kEvents = 9'000;          // of each track, in several chunks

Track copies() { return {.kind = TrackKind::kDeviceStream, .name = "copies", .process = "trainer", .device = "gpu 0"}; }
Track loader() { return {.kind = TrackKind::kHostThread, .name = "loader", .process = "trainer"}; }
Track power() { return {.kind = TrackKind::kCounter, .name = "power_w", .device = "gpu 0"}; }

ShardWriterOptions trace_options() {
  ShardWriterOptions options;
  options.shard = {ShardKind::kRank, ShardClock::kRaw, kNoRank, testing::kCollection};
  return options;
}

nlohmann::json chrome_trace(const TemporaryFolder& folder) {
  export_store(folder / "out.db", find_export_format("chrome"), folder / "trace.json", false);
  return nlohmann::json::parse(testing::read_file(folder / "trace.json")).at("traceEvents");
}

class ForeignTrace : public ::testing::Test {
 protected:
  // What a collector does: it knows the sink alone. Event i of a track begins at 100 i.
  ForeignTrace() {
    testing::write_head(folder_ / "a.head.db", {{0, {}}});
    ShardWriter writer(shard(), trace_options());
    TraceSink& sink = writer;
    sink.set_clock(kClock);
    EventRing& stream = sink.ring(copies(), 1 << 16);
    EventRing& thread = sink.ring(loader(), 1 << 16);
    EventRing& watts = sink.ring(power(), 1 << 16);
    const NameId copy = sink.name("memcpy"), read = sink.name("read batch");
    for (std::int64_t i = 0; i < kEvents; ++i) {
      stream.push({.span = {.begin_ns = 100 * i, .end_ns = 100 * i + 60, .name = copy}});
      thread.push({.span = {.begin_ns = 100 * i + 5, .end_ns = 100 * i + 95, .name = read}});
      watts.push(RingRecord::of(CounterSample{100 * i, 0.5 * static_cast<double>(i)}));
    }
    writer.finish();
  }

  std::string shard() const { return folder_ / "a.rank-trace.db"; }
  StoreReader merged(const std::vector<std::string>& shards, bool tolerant = false) {
    OutputFile file(folder_ / "out.db", false);
    EXPECT_EQ(merge_shards(file, shards, {.tolerant = tolerant}).events, 3 * kEvents);
    return StoreReader(folder_ / "out.db");
  }
  StoreReader with_run() { return merged({folder_ / "a.head.db", shard()}); }

  TemporaryFolder folder_;
};

std::int64_t ask(const StoreReader& reader, const std::string& sql) {
  return std::stoll(reader.query(sql).rows.at(0).at(0).value());
}

void expect_trace(const EventReader& events) {
  std::vector<Track> tracks = events.tracks();
  ASSERT_EQ(tracks.size(), 3u);
  const Track wanted[] = {copies(), loader(), power()};
  for (std::size_t t = 0; t < 3; ++t) {
    SCOPED_TRACE(track_text(wanted[t]));
    const TrackId id = std::exchange(tracks[t].track_id, {});
    EXPECT_EQ(tracks[t], wanted[t]);
    EXPECT_EQ(events.ledger().at(t), (LedgerRecord{id, kEvents, kEvents, 0, 0, 0}));
    std::int64_t count = 0;
    for (const CounterSample& sample : events.counters(id)) {
      ASSERT_EQ(sample, (CounterSample{100 * count + kShift, 0.5 * static_cast<double>(count)}));
      ++count;
    }
    for (const SpanEvent& e : events.spans(id)) {
      ASSERT_EQ(e.begin_ns, 100 * count + (t == 0 ? 0 : 5) + kShift);
      ASSERT_EQ(e.end_ns - e.begin_ns, t == 0 ? 60 : 90);
      ASSERT_EQ(events.name(e.name), t == 0 ? "memcpy" : "read batch");
      ++count;
    }
    EXPECT_EQ(count, kEvents);
    EXPECT_EQ(std::ssize(events.spans(kNoRun, id)), t == 2 ? 0 : kEvents);
  }
}

TEST_F(ForeignTrace, IsRecoveredAloneWithoutARunMadeUp) {
  const StoreReader reader = merged({shard()}, true);
  expect_trace(reader.events());
  EXPECT_EQ(ask(reader, "SELECT (SELECT count(*) FROM run) + (SELECT count(*) FROM strategy)"), 0);
}

TEST_F(ForeignTrace, IsMergedIntoTheFileOfARunAndAskedBySql) {
  const StoreReader reader = with_run();
  expect_trace(reader.events());
  EXPECT_EQ(ask(reader, "SELECT count(*) FROM run"), 1);
  for (const char* sql : {"SELECT count(*) FROM event WHERE track_id = 1 AND run_id IS NULL AND rank IS NULL",
                          "SELECT count FROM event_stats WHERE name = 'memcpy' AND rank IS NULL",
                          "SELECT count(*) FROM event e JOIN track t USING (track_id) WHERE t.device = 'gpu 0'",
                          "SELECT count(*) FROM counter",
                          // SQLite scans once for each side of OR and unites the rows by their rowids.
                          "SELECT count(*) FROM counter WHERE track_id = 3 OR time_ns >= 0"})
    EXPECT_EQ(ask(reader, sql), kEvents) << sql;
  for (const char* sql : {"SELECT count(*) FROM clock_fit WHERE rank < 0",
                          "SELECT count(*) FROM event WHERE rank >= 0 OR lane >= 0 OR run_id >= 0 OR repeat >= 0",
                          "SELECT count(*) FROM counter WHERE track_id = 1 OR run_id = 1"})
    EXPECT_EQ(ask(reader, sql), 0) << sql;
  for (const char* sql :
       {"SELECT count(*) FROM event_stats WHERE name = 'memcpy' OR (rank IS NULL AND name = 'read batch')",
        "SELECT count(*) FROM pyramid WHERE rank IS NULL"})
    EXPECT_EQ(ask(reader, sql), 2) << sql;
  EXPECT_EQ(ask(reader, "SELECT total_ns / count FROM event_stats WHERE name = 'read batch'"), 90);
  const std::string at = std::to_string(700 + kShift);
  EXPECT_EQ(reader.query("SELECT value FROM counter WHERE name = 'power_w' AND time_ns = " + at).rows[0][0], "3.5");
}

TEST_F(ForeignTrace, IsExported) {
  with_run();
  std::map<std::string, std::int64_t> count;
  std::string processes;
  for (const auto& event : chrome_trace(folder_)) {
    const std::string name = event.value("name", "");
    count[event.at("ph")] += event.at("ph") != "X" || name == "memcpy" || name == "read batch";
    if (event.at("ph") == "M" && name == "process_name")
      processes += event.at("args").at("name").get<std::string>() + ";";
    EXPECT_TRUE(event.at("ph") != "C" || name == "power_w");
  }
  EXPECT_EQ(count["C"], kEvents);
  EXPECT_EQ(count["X"], 2 * kEvents);
  EXPECT_EQ(processes, "gpu 0;trainer;");

  export_store(folder_ / "out.db", find_export_format("plain-sqlite"), folder_ / "plain.db", false);
  testing::MergedFile plain(folder_ / "plain.db");
  EXPECT_EQ(plain.number("SELECT count(*) FROM counter"), kEvents);
  EXPECT_EQ(plain.number("SELECT count(*) FROM event WHERE run_id IS NULL"), 2 * kEvents);
}

TEST(ForeignTracks, HaveNoLane) {
  const TemporaryFolder folder;
  ShardWriter writer(folder / "a.rank-trace.db", trace_options());
  EXPECT_THROW(writer.ring({.rank = 0, .lane = 0, .kind = TrackKind::kDeviceStream}, 16), Error);
  EXPECT_THROW(writer.ring({.rank = 0}, 16), Error);
  EXPECT_NO_THROW(writer.ring({.rank = 0, .kind = TrackKind::kDeviceStream}, 16));
  writer.finish();
  // Nor does any other writer get one past the schema, or a reader believe one.
  const std::string path = folder / "a.rank-trace.db";
  EXPECT_THROW(Database::create_shard(path).execute("UPDATE track SET lane = 0"), Error);
  testing::tamper(path, "PRAGMA ignore_check_constraints = ON; UPDATE track SET lane = 0");
  const Error error = testing::error_of([&] { StoreReader::shard(path).events().tracks(); });
  EXPECT_EQ(error.code(), ErrorCode::kStoreCorrupt);
}

// A file of a shard that holds these tracks, each with the events that `fill` puts there.
template <typename Tracks, typename Fill>
void write_tracks(const TemporaryFolder& folder, const Tracks& tracks, Fill&& fill) {
  testing::write_head(folder / "a.head.db", {{0, {}}});
  {
    testing::RankShard shard(folder / "a.rank-trace.db", -1);
    for (std::int64_t i = 0; i < std::ssize(tracks); ++i) {
      Track track = tracks[i];
      track.track_id = TrackId{i + 1};
      shard.add_track(track);
      fill(shard, track, i);
    }
    shard.commit();
  }
  OutputFile out(folder / "out.db", false);
  merge_shards(out, std::vector<std::string>{folder / "a.head.db", folder / "a.rank-trace.db"}, {});
}

// Readers join counters by process and name.
TEST(ForeignCounters, OfTwoDevicesOfAProcessHaveTwoNames) {
  const TemporaryFolder folder;
  const Track counters[] = {{.kind = TrackKind::kCounter, .name = "power_w", .process = "trainer", .device = "gpu 0"},
                            {.kind = TrackKind::kCounter, .name = "power_w", .process = "trainer", .device = "gpu 1"},
                            {.kind = TrackKind::kCounter, .name = "batches", .process = "trainer"},
                            {.kind = TrackKind::kCounter, .name = "batches", .process = "trainer"},
                            {.rank = 3, .kind = TrackKind::kCounter, .name = "power_w", .device = "gpu 0"},
                            {.rank = 3, .kind = TrackKind::kCounter, .name = "power_w", .device = "gpu 1"},
                            {.kind = TrackKind::kCounter, .name = "power_w", .device = "gpu 1"}};
  write_tracks(folder, counters, [](testing::RankShard& shard, const Track& track, std::int64_t i) {
    const std::vector<CounterSample> samples = {{100, static_cast<double>(i)}, {200, static_cast<double>(i)}};
    shard.add_events(kNoRun, track.track_id, samples, 10);
  });
  std::map<std::pair<int, std::string>, std::set<double>> values;  // by process and name
  for (const auto& event : chrome_trace(folder))
    if (event.at("ph") == "C")
      values[{event.at("pid").get<int>(), event.at("name").get<std::string>()}].insert(
          event.at("args").at("value").get<double>());
  EXPECT_EQ(values.size(), std::size(counters));
  for (const auto& [name, of_one] : values) EXPECT_EQ(of_one.size(), 1u) << name.second;
  EXPECT_TRUE(values.contains({3, "power_w (gpu 1)"}));
}

// Two processes with the same correlation numbers, and threads that serve all ranks of theirs: an arrow leads from each
// call to what it asked for, of its own process, and to nothing where no call is known.
TEST(ForeignWork, IsExportedWithWhatAskedForIt) {
  const TemporaryFolder folder;
  const Track tracks[] = {
      {.rank = 0, .kind = TrackKind::kHostThread, .name = "calls", .process = "a"},
      {.rank = 0, .kind = TrackKind::kDeviceStream, .name = "stream 7", .process = "a", .device = "GPU 0"},
      {.kind = TrackKind::kHostThread, .name = "calls", .process = "b"},
      {.rank = 1, .kind = TrackKind::kDeviceStream, .name = "stream 7", .process = "b", .device = "GPU 0"}};
  const auto work = [](EventCategory category, std::int64_t begin_ns, std::uint32_t correlation, WorkDetailId detail) {
    return WorkEvent{{.begin_ns = begin_ns, .end_ns = begin_ns + 50, .name = 1, .flags = event_flags(category)},
                     category == EventCategory::kCopy ? 4096 : 0,
                     correlation,
                     detail};
  };
  write_tracks(folder, tracks, [&](testing::RankShard& shard, const Track& track, std::int64_t i) {
    if (i == 0) shard.add_string(1, "work");
    if (i == 0)
      shard.add_detail(
          1, {.grid = {8, 2, 1}, .block = {128, 1, 1}, .registers_per_thread = 40, .dynamic_shared_bytes = 512});
    const bool is_call = track.kind == TrackKind::kHostThread;
    std::vector<WorkEvent> events;
    for (std::uint32_t n = 1; n <= 3; ++n) {
      const EventCategory of_device = n == 2 ? EventCategory::kCopy : EventCategory::kKernel;
      events.push_back(work(is_call ? EventCategory::kApi : of_device, (is_call ? 0 : 1'000) + 100 * n + 10 * i, n,
                            is_call || n == 2 ? 0 : 1));
    }
    if (!is_call) events.push_back(work(EventCategory::kKernel, 5'000, 99, 0));
    if (!is_call) events.push_back(work(EventCategory::kMemset, 6'000, 0, 0));
    shard.add_events(kNoRun, track.track_id, events, 10);
  });
  std::map<int, std::map<std::string, nlohmann::json>> arrows;
  std::map<std::pair<int, int>, nlohmann::json> slices;  // by track and correlation
  for (const auto& event : chrome_trace(folder)) {
    if (event.value("cat", "") == "launch")
      arrows[event.at("id").get<int>()][event.at("ph").get<std::string>()] = event;
    if (event.at("ph") == "X" && event.at("args").contains("correlation"))
      slices[{event.at("tid").get<int>(), event.at("args").at("correlation").get<int>()}] = event;
  }
  std::map<int, Track> stored;
  for (const Track& track : StoreReader(folder / "out.db").events().tracks())
    stored[static_cast<int>(track.track_id)] = track;
  std::map<std::string, int> stream_of;  // by process
  for (const auto& [id, track] : stored)
    if (track.kind == TrackKind::kDeviceStream) stream_of[*track.process] = id;
  EXPECT_EQ(arrows.size(), 6u);
  for (const auto& [id, ends] : arrows) {
    ASSERT_EQ(ends.size(), 2u) << id;
    const nlohmann::json &from = ends.at("s"), &to = ends.at("f");
    const Track &caller = stored.at(from.at("tid").get<int>()), &stream = stored.at(to.at("tid").get<int>());
    EXPECT_EQ(caller.kind, TrackKind::kHostThread);
    EXPECT_EQ(stream.kind, TrackKind::kDeviceStream);
    EXPECT_EQ(caller.process, stream.process);
    for (const auto* end : {&from, &to}) {
      const nlohmann::json& around = slices.at({end->at("tid").get<int>(), to.at("args").at("correlation").get<int>()});
      EXPECT_EQ(end->at("ts"), around.at("ts"));
      EXPECT_EQ(end->at("pid"), around.at("pid"));
    }
  }
  const nlohmann::json kernel = slices.at({stream_of.at("a"), 1}).at("args");
  const nlohmann::json copy = slices.at({stream_of.at("b"), 2}).at("args");
  EXPECT_EQ(kernel.at("grid"), nlohmann::json({8, 2, 1}));
  EXPECT_EQ(kernel.at("block"), nlohmann::json({128, 1, 1}));
  EXPECT_EQ(kernel.at("registers_per_thread"), 40);
  EXPECT_EQ(kernel.at("shared_bytes"), 512);
  EXPECT_FALSE(kernel.contains("bytes"));
  EXPECT_EQ(copy.at("bytes"), 4096);
  EXPECT_FALSE(copy.contains("grid"));
}

}  // namespace
}  // namespace spscope
