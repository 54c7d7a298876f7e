// A program that was watched: its head and its events make a file that every reader takes for what it is.
#include "backend/store/observed_run.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "backend/analysis/observation.h"
#include "tests/unit/store/two_ranks.h"

namespace spscope {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;

constexpr const char* kCommand = "/usr/bin/python3 train.py --name 'a b'";

class ObservedRunTest : public ::testing::Test {
 protected:
  RunId begin(StoreWriter& writer) { return begin_observed_run(writer, kCommand); }
  // Kernels of 10 and 30 ns on a stream of rank 1, a wait of a thread, and a range that no rank had.
  void write_events(EventWriter& events) {
    const TrackId stream =
        events.add_track({.rank = 1, .kind = TrackKind::kDeviceStream, .name = "stream 7", .device = "GPU 0"});
    for (const char* const device : {"GPU 1 at 0000:5C:00.0", "GPU 1 at 0000:3B:00.0", "GPU 1 at 0000:5C:00.0"})
      events.add_track({.rank = 1, .kind = TrackKind::kDeviceStream, .name = "stream 8", .device = device});
    const NameId gemm = events.name("gemm"), norm = events.name("norm");
    const std::uint32_t kernel = event_flags(EventCategory::kKernel);
    events.append(kNoRun, stream,
                  std::vector<WorkEvent>{{{100, 130, -1, gemm, kernel}, 0, 1, 0},
                                         {{130, 160, -1, gemm, kernel}, 0, 2, 0},
                                         {{160, 170, -1, norm, kernel}, 0, 3, 0}});
    const TrackId thread = events.add_track({.rank = 1, .kind = TrackKind::kHostThread, .name = "main"});
    events.append(kNoRun, thread,
                  std::vector<WorkEvent>{{{90, 180, -1, 0, event_flags(EventCategory::kSynchronize)}, 0, 0, 0}});
    events.count_dropped(stream, 4);
    // Of the second, as of one of copy engines, only the call is known; the third hangs on the device.
    const TrackId nccl = events.add_track(
        {.rank = 1, .overlapping = true, .kind = TrackKind::kForeign, .name = "NCCL 0x00f3a2b1c4d5e6f7 rank 1 of 2"});
    const NameId gather = events.name("AllGather");
    const auto operation = [&](std::int64_t begin, std::int64_t transfer_begin, std::int64_t end) {
      CollectiveEvent e;
      e.span = {begin, end, -1, gather, event_flags(EventCategory::kTransfer)};
      if (end == kNeverEnded) e.span.flags |= kEventUnfinished;
      e.entry_ns = begin, e.transfer_begin_ns = transfer_begin, e.transfer_end_ns = end, e.bytes = 8;
      return e;
    };
    events.append(kNoRun, nccl,
                  std::vector<CollectiveEvent>{operation(100, 130, 180), operation(110, 110, 114),
                                               operation(120, 150, kNeverEnded)});
    const TrackId limit = events.add_track(
        {.kind = TrackKind::kCounter, .name = "GPU 0 low clocks: power cap (0 or 1)", .device = "GPU 0"});
    events.append(kNoRun, limit, std::vector<CounterSample>{{50, 0}, {230, 1}, {235, 1}, {240, 1}});
  }
  // As an attach that sees the end of its program, or is killed before.
  std::string recorded(bool ends) {
    const std::string head = folder_ / "a.head.db", out = folder_ / "out.db";
    {
      StoreWriter writer = StoreWriter::shard(head, testing::head_shard(), {.tool_version = "1.0"});
      const RunId run = begin(writer);
      write_events(writer.events());
      writer.checkpoint();
      if (ends) {
        end_observed_run(writer, {.run = run, .ranks = 4, .nodes = 2, .finished = true, .begin_ns = 50, .end_ns = 250});
        writer.finish();
      }
    }
    testing::merge(out, {head}, {.tolerant = !ends});
    return out;
  }
  TemporaryFolder folder_;
};

TEST_F(ObservedRunTest, IsReadAsWritten) {
  const StoreReader reader(recorded(true));
  const std::vector<ObservedRun> observed = observed_runs(reader);
  ASSERT_EQ(observed.size(), 1u);
  const ObservedRun& run = observed[0];
  EXPECT_EQ(std::tuple(run.command, run.ranks, run.nodes, run.finished, run.begin_ns, run.end_ns),
            std::tuple(kCommand, 4, 2, true, 50, 250));
  const QueryResult shown = reader.query(
      "SELECT s.label, e.name, u.makespan_ns, u.compute, u.network FROM strategy s JOIN strategy_summary u "
      "USING (strategy_id) JOIN enum_name e ON e.kind = 'strategy.mode' AND e.value = s.mode");
  ASSERT_EQ(shown.rows.size(), 1u);
  EXPECT_THAT(shown.rows[0], ElementsAre("python3", "observed", "200", "measured", "measured"));
}

TEST_F(ObservedRunTest, HasSumsAndNoStrategies) {
  const StoreReader reader(recorded(true));
  EXPECT_TRUE(compare_store(reader).empty());
  EXPECT_TRUE(makespans(reader).empty());
  const std::vector<Observation> all = observations(reader);
  ASSERT_EQ(all.size(), 1u);
  const Observation& o = all[0];
  EXPECT_EQ(o.ranks, 4);
  ASSERT_EQ(o.work.size(), 3u);
  EXPECT_EQ(std::tuple(o.work[0].rank, o.work[0].track_kind, o.work[0].category, o.work[0].count, o.work[0].total_ns),
            std::tuple(1, "device stream", "kernel", 3, 70));
  EXPECT_EQ(o.work[1].track_kind, "NCCL");
  EXPECT_EQ(o.work[2].category, "synchronize");
  ASSERT_EQ(o.kernels.size(), 2u);
  EXPECT_EQ(std::tuple(o.kernels[0].name, o.kernels[0].total_ns, o.kernels[1].count), std::tuple("gemm", 60, 1));
  std::vector<std::string> gpus;
  for (const MachineLine& line : o.machine)
    if (line.name.starts_with("GPU ")) gpus.push_back(line.name + ": " + line.value);
  EXPECT_THAT(gpus, ElementsAre("GPU 0: model and place on the bus not recorded", "GPU 1: at 0000:3B:00.0",
                                "GPU 1: at 0000:5C:00.0"));
  ASSERT_EQ(o.operations.size(), 1u);
  const auto& nccl = o.operations[0];
  EXPECT_EQ(
      std::tuple(nccl.count, nccl.unfinished, nccl.bytes, nccl.total_ns, nccl.begun, nccl.queued_ns, nccl.device_ns),
      std::tuple(2, 1, 24, 84, 1, 30, 50));
  ASSERT_EQ(o.counters.size(), 1u);
  EXPECT_EQ(o.counters[0].name, "GPU 0 low clocks: power cap (0 or 1)");
  EXPECT_DOUBLE_EQ(o.counters[0].mean, 0.1) << "it held for 20 of 200 ns";
  EXPECT_EQ(o.counters[0].max, 1);
  EXPECT_EQ(o.recording.dropped, 4);
  const Error refused = error_of([&] { require_strategies(reader, "compare"); });
  EXPECT_EQ(refused.code(), ErrorCode::kUsage);
  EXPECT_THAT(refused.what(), HasSubstr("out.db\" is of a program that was observed, /usr/bin/python3 train.py"));
  EXPECT_THAT(refused.hint(), HasSubstr("spscope report"));
  ObservedRun longest{.command = "é" + std::string(65535, 'x')};
  EXPECT_EQ(longest.short_command(), "é" + std::string(198, 'x') + "…");
  longest.command = std::string(200, 'x');
  EXPECT_EQ(longest.short_command(), longest.command);
}

TEST_F(ObservedRunTest, WhoseEndNobodySawIsNotFinished) {
  const StoreReader reader(recorded(false));
  const std::vector<ObservedRun> observed = observed_runs(reader);
  ASSERT_EQ(observed.size(), 1u);
  EXPECT_EQ(std::tuple(observed[0].command, observed[0].finished, observed[0].end_ns), std::tuple(kCommand, false, 0));
  EXPECT_EQ(reader.query("SELECT sum(count) FROM event_stats").rows[0][0], "6");
  EXPECT_TRUE(compare_store(reader).empty());
}

TEST_F(ObservedRunTest, WindowsAreReadAsWrittenAndThoseBeyondTheMostAreJoined) {
  const auto stored = [&](const std::vector<CollectWindow>& windows) {
    const std::string head = folder_ / "a.head.db", out = folder_ / "out.db";
    {
      StoreWriter writer = StoreWriter::shard(head, testing::head_shard(), {.tool_version = "1.0"});
      begin(writer);
      set_collect_windows(writer, {{1, 2}});
      set_collect_windows(writer, windows);
      writer.finish();
    }
    testing::merge(out, {head}, {.tolerant = true});
    const std::vector<CollectWindow> read = observed_runs(StoreReader(out)).at(0).windows;
    std::filesystem::remove(head);
    std::filesystem::remove(out);
    return read;
  };
  const std::vector<CollectWindow> few = {{2'000'000'000, 3'000'000'000}, {5'000'000'000, CollectWindow::kOpen}};
  EXPECT_EQ(stored(few), few);
  EXPECT_EQ(windows_text(few), "from 2.0 s to 3.0 s and from 5.0 s on");
  std::vector<CollectWindow> many;
  for (std::int64_t i = 0; i < 300; ++i) many.push_back({i * 100 + i * i, i * 100 + i * i + 50});
  const std::vector<CollectWindow> joined = stored(many);
  ASSERT_EQ(joined.size(), kMostWindows);
  EXPECT_EQ(joined[0], (CollectWindow{0, many[44].end_ns})) << "the first lie nearest to each other";
  EXPECT_EQ(joined[1], many[45]);
  constexpr std::int64_t kSecond = 1'000'000'000;
  const CollectWindow four[] = {
      {kSecond, 2 * kSecond}, {3 * kSecond, 4 * kSecond}, {5 * kSecond, 6 * kSecond}, {9 * kSecond, 11 * kSecond}};
  EXPECT_EQ(windows_text(four), "in 4 windows from 1.0 s to 11.0 s, 5.0 s in all");
  const CollectWindow shorter[] = {{kSecond, kSecond + 1'500'000}};
  EXPECT_EQ(windows_text(shorter), "from 1.000000 s to 1.001500 s");
}

TEST_F(ObservedRunTest, MayHaveNoRanks) {
  const std::string head = folder_ / "a.head.db", out = folder_ / "out.db";
  for (const std::optional<int> rank : {std::optional<int>(), std::optional(0)}) {
    {
      StoreWriter writer = StoreWriter::shard(head, testing::head_shard(), {.tool_version = "1.0"});
      const RunId run = begin(writer);
      writer.events().add_track({.rank = rank, .kind = TrackKind::kHostThread, .name = "main"});
      end_observed_run(writer, {.run = run, .ranks = 1, .nodes = 1, .finished = true, .begin_ns = 50, .end_ns = 250});
      writer.finish();
    }
    testing::merge(out, {head}, {});
    EXPECT_EQ(observations(StoreReader(out)).at(0).ranks, rank ? 1 : 0);
    for (const std::string& gone : {head, out}) std::filesystem::remove(gone);
  }
}

}  // namespace
}  // namespace spscope
