// The trace of another program: tracks without ranks, events without a run, and a counter. Its process is killed, and
// what it recorded is merged with a run, recovered without one, asked by SQL and exported.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
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

Track copies() { return {.kind = TrackKind::kDeviceStream, .name = "copies", .process = "trainer", .device = "gpu 0"}; }
Track loader() { return {.kind = TrackKind::kHostThread, .name = "loader", .process = "trainer"}; }
Track power() { return {.kind = TrackKind::kCounter, .name = "power_w", .device = "gpu 0"}; }

// What a collector does, until it is killed: it knows the sink alone. Event i of a track begins at 100 i.
[[noreturn]] void collect(TraceSink& sink) {
  sink.set_clock(kClock);
  EventRing& stream = sink.ring(copies(), 1 << 16);
  EventRing& thread = sink.ring(loader(), 1 << 16);
  EventRing& watts = sink.ring(power(), 1 << 16);
  const NameId copy = sink.name("memcpy"), read = sink.name("read batch");
  for (std::int64_t i = 0;; ++i) {
    stream.push({.span = {.begin_ns = 100 * i, .end_ns = 100 * i + 60, .name = copy}});
    thread.push({.span = {.begin_ns = 100 * i + 5, .end_ns = 100 * i + 95, .name = read}});
    watts.push(RingRecord::of(CounterSample{100 * i, 0.5 * static_cast<double>(i)}));
    if (i % 500 == 0) ::usleep(200);
  }
}

class ForeignTrace : public ::testing::Test {
 protected:
  // Kills a process that records once it has committed thousands of events of each track; committed_ is what it said.
  ForeignTrace() {
    run_ = testing::write_head(folder_ / "a.head.db", {{0, {}}});
    int pipe[2];
    SPSCOPE_CHECK(::pipe(pipe) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
      ShardWriterOptions options;
      options.shard = {ShardKind::kRank, ShardClock::kRaw, kNoRank, testing::kCollection};
      options.on_commit = [&](std::span<const CommittedTrack> tracks) {
        for (const CommittedTrack& t : tracks) {
          const std::int64_t said[2] = {static_cast<std::int64_t>(t.track->track_id), t.events};
          if (::write(pipe[1], said, sizeof said) < 0) ::_exit(1);
        }
      };
      ShardWriter writer(shard(), options);
      collect(writer);
    }
    ::close(pipe[1]);
    std::int64_t said[2];
    const auto listen = [&] {
      const bool more = ::read(pipe[0], said, sizeof said) == sizeof said;
      if (more) committed_[said[0]] = said[1];
      return more;
    };
    while (committed_[1] < 3'000 || committed_[2] < 3'000 || committed_[3] < 3'000) SPSCOPE_CHECK(listen());
    ::kill(child, SIGKILL);
    int status = 0;
    SPSCOPE_CHECK(::waitpid(child, &status, 0) == child && WIFSIGNALED(status));
    while (listen()) continue;
    ::close(pipe[0]);
  }

  std::string shard() const { return folder_ / "a.rank-trace.db"; }
  MergeReport merge(const std::string& out, const std::vector<std::string>& shards, bool tolerant) {
    OutputFile file(out, false);
    return merge_shards(file, shards, {.tolerant = tolerant});
  }
  static std::string ask(const StoreReader& reader, const std::string& sql) {
    return reader.query(sql).rows.at(0).at(0).value_or("NULL");
  }

  TemporaryFolder folder_;
  RunId run_ = {};
  std::map<std::int64_t, std::int64_t> committed_;  // by track
};

void expect_trace(const EventReader& events, std::map<std::int64_t, std::int64_t> committed) {
  std::vector<Track> tracks = events.tracks();
  ASSERT_EQ(tracks.size(), 3u);
  const Track wanted[] = {copies(), loader(), power()};
  for (std::size_t t = 0; t < 3; ++t) {
    SCOPED_TRACE(track_text(wanted[t]));
    const TrackId id = std::exchange(tracks[t].track_id, {});
    EXPECT_EQ(tracks[t], wanted[t]);
    std::int64_t count = 0;
    if (t == 2) {
      for (const CounterSample& sample : events.counters(id)) {
        ASSERT_EQ(sample, (CounterSample{100 * count + kShift, 0.5 * static_cast<double>(count)}));
        ++count;
      }
    } else {
      for (const SpanEvent& e : events.spans(id)) {
        ASSERT_EQ(e.begin_ns, 100 * count + (t == 0 ? 0 : 5) + kShift);
        ASSERT_EQ(e.end_ns - e.begin_ns, t == 0 ? 60 : 90);
        ASSERT_EQ(events.name(e.name), t == 0 ? "memcpy" : "read batch");
        ++count;
      }
      EXPECT_EQ(std::ssize(events.spans(kNoRun, id)), count);
    }
    EXPECT_GE(count, committed[static_cast<std::int64_t>(id)]);
    const LedgerRecord row = events.ledger().at(t);
    EXPECT_EQ(row.track_id, id);
    EXPECT_EQ(row.stored, count);
    EXPECT_EQ(row.sent, row.stored + row.dropped + row.unreadable + row.lost);
  }
}

TEST_F(ForeignTrace, IsMergedIntoTheFileOfARun) {
  const MergeReport report = merge(folder_ / "out.db", {folder_ / "a.head.db", shard()}, false);
  EXPECT_GE(report.events, 9'000);
  const StoreReader reader(folder_ / "out.db");
  expect_trace(reader.events(), committed_);
  EXPECT_EQ(ask(reader, "SELECT count(*) FROM run"), "1");
  EXPECT_EQ(ask(reader, "SELECT count(*) FROM clock_fit WHERE rank < 0"), "0");
}

TEST_F(ForeignTrace, IsRecoveredAloneWithoutARunMadeUp) {
  const MergeReport report = merge(folder_ / "out.db", {shard()}, true);
  EXPECT_GE(report.events, 9'000);
  const StoreReader reader(folder_ / "out.db");
  expect_trace(reader.events(), committed_);
  EXPECT_EQ(ask(reader, "SELECT (SELECT count(*) FROM run) + (SELECT count(*) FROM strategy)"), "0");
}

TEST_F(ForeignTrace, IsAskedBySql) {
  merge(folder_ / "out.db", {folder_ / "a.head.db", shard()}, false);
  const StoreReader reader(folder_ / "out.db");
  const std::string copied = ask(reader, "SELECT stored FROM ledger WHERE track_id = 1");
  EXPECT_EQ(ask(reader, "SELECT count(*) FROM event WHERE track_id = 1 AND run_id IS NULL AND rank IS NULL"), copied);
  EXPECT_EQ(ask(reader, "SELECT count(*) FROM event WHERE rank >= 0 OR lane >= 0 OR run_id >= 0 OR repeat >= 0"), "0");
  EXPECT_EQ(ask(reader, "SELECT count FROM event_stats WHERE name = 'memcpy' AND rank IS NULL"), copied);
  EXPECT_EQ(ask(reader, "SELECT total_ns / count FROM event_stats WHERE name = 'read batch'"), "90");
  EXPECT_EQ(ask(reader, "SELECT count(*) FROM event e JOIN track t USING (track_id) WHERE t.device = 'gpu 0'"), copied);
  EXPECT_EQ(ask(reader, "SELECT count(*) FROM counter"), ask(reader, "SELECT stored FROM ledger WHERE track_id = 3"));
  EXPECT_EQ(
      ask(reader, "SELECT value FROM counter WHERE name = 'power_w' AND time_ns = " + std::to_string(700 + kShift)),
      "3.5");
  EXPECT_EQ(ask(reader, "SELECT count(*) FROM counter WHERE track_id = 1 OR run_id = 1"), "0");
  // SQLite scans once for each side of OR and unites the rows by their rowids.
  EXPECT_EQ(ask(reader, "SELECT count(*) FROM counter WHERE track_id = 3 OR time_ns >= 0"),
            ask(reader, "SELECT stored FROM ledger WHERE track_id = 3"));
  EXPECT_EQ(
      ask(reader, "SELECT count(*) FROM event_stats WHERE name = 'memcpy' OR (rank IS NULL AND name = 'read batch')"),
      "2");
  EXPECT_EQ(ask(reader, "SELECT count(*) FROM pyramid WHERE rank IS NULL"), "2");
}

TEST_F(ForeignTrace, IsExported) {
  merge(folder_ / "out.db", {folder_ / "a.head.db", shard()}, false);
  const std::string samples = ask(StoreReader(folder_ / "out.db"), "SELECT count(*) FROM counter");
  const auto export_as = [&](const char* format, const std::string& name) {
    export_store(folder_ / "out.db", find_export_format(format), folder_ / name, false);
    return folder_ / name;
  };
  const nlohmann::json trace = nlohmann::json::parse(testing::read_file(export_as("chrome", "trace.json")));
  std::map<std::string, int> count;
  std::string processes;
  for (const auto& event : trace.at("traceEvents")) {
    const std::string name = event.value("name", "");
    count[event.at("ph")] += event.at("ph") != "X" || name == "memcpy" || name == "read batch";
    if (event.at("ph") == "M" && event.at("name") == "process_name")
      processes += event.at("args").at("name").get<std::string>() + ";";
    if (event.at("ph") == "C") {
      EXPECT_EQ(event.at("name"), "power_w");
    }
  }
  EXPECT_EQ(std::to_string(count["C"]), samples);
  EXPECT_EQ(std::to_string(count["X"]), ask(StoreReader(folder_ / "out.db"), "SELECT count(*) FROM event"));
  EXPECT_EQ(processes, "gpu 0;trainer;");

  std::ifstream csv(export_as("csv", "tables") + "/counter.csv");
  std::string line;
  int lines = -1;  // without the names of columns
  while (std::getline(csv, line)) ++lines;
  EXPECT_EQ(std::to_string(lines), samples);

  Database plain = Database::open_read_only(export_as("plain-sqlite", "plain.db"));
  Statement row(plain, "SELECT (SELECT count(*) FROM counter), (SELECT count(*) FROM event WHERE run_id IS NULL)");
  ASSERT_TRUE(row.step());
  EXPECT_EQ(std::to_string(row.integer(0)), samples);
  EXPECT_EQ(std::to_string(row.integer(1)), ask(StoreReader(folder_ / "out.db"), "SELECT count(*) FROM event"));
}

TEST(ForeignTracks, HaveNoLane) {
  const TemporaryFolder folder;
  ShardWriterOptions options;
  options.shard = {ShardKind::kRank, ShardClock::kRaw, kNoRank, testing::kCollection};
  ShardWriter writer(folder / "a.rank-trace.db", options);
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

// Readers join counters by process and name.
TEST(ForeignCounters, OfTwoDevicesOfAProcessHaveTwoNames) {
  const TemporaryFolder folder;
  testing::write_head(folder / "a.head.db", {{0, {}}});
  const Track counters[] = {{.kind = TrackKind::kCounter, .name = "power_w", .process = "trainer", .device = "gpu 0"},
                            {.kind = TrackKind::kCounter, .name = "power_w", .process = "trainer", .device = "gpu 1"},
                            {.kind = TrackKind::kCounter, .name = "batches", .process = "trainer"},
                            {.kind = TrackKind::kCounter, .name = "batches", .process = "trainer"},
                            {.rank = 3, .kind = TrackKind::kCounter, .name = "power_w", .device = "gpu 0"},
                            {.rank = 3, .kind = TrackKind::kCounter, .name = "power_w", .device = "gpu 1"},
                            {.kind = TrackKind::kCounter, .name = "power_w", .device = "gpu 1"}};
  {
    testing::RankShard shard(folder / "a.rank-trace.db", -1);
    for (std::int64_t i = 0; i < std::ssize(counters); ++i) {
      Track track = counters[i];
      track.track_id = TrackId{i + 1};
      shard.add_track(track);
      const std::vector<CounterSample> samples = {{100, static_cast<double>(i)}, {200, static_cast<double>(i)}};
      shard.add_events(kNoRun, track.track_id, samples, 10);
    }
    shard.commit();
  }
  OutputFile out(folder / "out.db", false);
  merge_shards(out, std::vector<std::string>{folder / "a.head.db", folder / "a.rank-trace.db"}, {});
  export_store(folder / "out.db", find_export_format("chrome"), folder / "trace.json", false);
  const nlohmann::json trace = nlohmann::json::parse(testing::read_file(folder / "trace.json"));
  std::map<std::pair<int, std::string>, std::set<double>> values;  // by process and name
  for (const auto& event : trace.at("traceEvents"))
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
  testing::write_head(folder / "a.head.db", {{0, {}}});
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
  {
    testing::RankShard shard(folder / "a.rank-trace.db", -1);
    shard.add_string(1, "work");
    shard.add_detail(
        1, {.grid = {8, 2, 1}, .block = {128, 1, 1}, .registers_per_thread = 40, .dynamic_shared_bytes = 512});
    for (std::int64_t i = 0; i < std::ssize(tracks); ++i) {
      Track track = tracks[i];
      track.track_id = TrackId{i + 1};
      shard.add_track(track);
      const bool is_call = track.kind == TrackKind::kHostThread;
      const std::int64_t later = is_call ? 0 : 1'000;
      std::vector<WorkEvent> events;
      for (std::uint32_t n = 1; n <= 3; ++n)
        events.push_back(work(is_call  ? EventCategory::kApi
                              : n == 2 ? EventCategory::kCopy
                                       : EventCategory::kKernel,
                              later + 100 * n + 10 * i, n, is_call || n == 2 ? 0 : 1));
      if (!is_call) events.push_back(work(EventCategory::kKernel, 5'000, 99, 0));
      if (!is_call) events.push_back(work(EventCategory::kMemset, 6'000, 0, 0));
      shard.add_events(kNoRun, track.track_id, events, 10);
    }
    shard.commit();
  }
  OutputFile out(folder / "out.db", false);
  merge_shards(out, std::vector<std::string>{folder / "a.head.db", folder / "a.rank-trace.db"}, {});
  export_store(folder / "out.db", find_export_format("chrome"), folder / "trace.json", false);
  const nlohmann::json trace = nlohmann::json::parse(testing::read_file(folder / "trace.json"));
  std::map<int, std::map<std::string, nlohmann::json>> arrows;
  std::map<std::pair<int, int>, nlohmann::json> slices;  // by track and correlation
  for (const auto& event : trace.at("traceEvents")) {
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
