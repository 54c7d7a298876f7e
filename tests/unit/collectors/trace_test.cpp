// Which events records of CUPTI become, and on which tracks.
#include "collectors/cupti/trace.h"

#include <gtest/gtest.h>

#include "backend/record/shared_trace_sink.h"
#include "tests/support/kept_trace.h"
#include "tests/support/shared_trace_memory.h"

namespace spscope::cupti {
namespace {

constexpr std::uint32_t kInstant = 1, kBegin = 2, kEnd = 4;

struct CuptiTraceTest : testing::Test {
  KeptTrace sink;
  CuptiTrace trace{sink, {}};

  void kernel(std::int64_t begin_ns, std::uint32_t correlation, const char* name = "attend", Place place = {0, 1, 7}) {
    trace.take(KernelRecord{
        .begin_ns = begin_ns, .end_ns = begin_ns + 10, .place = place, .correlation = correlation, .name = name});
  }
  void push(std::uint32_t correlation, const LaunchedOp& launched) {
    trace.take(ExternalCorrelationRecord{
        .external_kind = kOurIds, .correlation = correlation, .external_id = pushed_id(launched)});
  }
  void mark(std::int64_t time_ns, std::uint32_t flags, std::uint32_t id, const char* name = nullptr,
            const char* domain = nullptr) {
    trace.take(
        MarkerRecord{.time_ns = time_ns, .flags = flags, .id = id, .thread = 55, .name = name, .domain = domain});
  }
  const KeptTrace::KeptTrack& only_track() {
    EXPECT_EQ(sink.tracks().size(), 1u);
    return sink.tracks().at(0);
  }
};

TEST_F(CuptiTraceTest, AStreamIsHeldUntilAnOpTellsItsRank) {
  kernel(100, 1);
  trace.settle(1'000);
  EXPECT_TRUE(sink.tracks().empty());
  kernel(200, 2);
  push(2, {.rank = 3, .run = RunId{9}, .op = 41});
  trace.settle(1'000);
  EXPECT_EQ(only_track().track.rank, 3);
  ASSERT_EQ(only_track().records.size(), 2u);
  EXPECT_EQ(only_track().records[0].span.op_id, -1);
  EXPECT_EQ(only_track().records[0].run, kNoRun);
  EXPECT_EQ(only_track().records[1].span.op_id, 41);
  EXPECT_EQ(only_track().records[1].run, RunId{9});
}

// Ranges that began outside have no begin; one that began inside and never ended, as recording paused, is unfinished.
TEST_F(CuptiTraceTest, WhatBeginsOutsideOfWindowsIsLeftOutAndNotLost) {
  const auto windows = std::make_unique<CollectWindows>();
  CuptiTrace of_windows{sink, {.process = "p", .windows = windows.get()}};
  windows->open(100);
  windows->close(200);
  windows->open(300);
  const auto take = [&](std::int64_t begin_ns) {
    of_windows.take(KernelRecord{.begin_ns = begin_ns, .end_ns = begin_ns + 150, .name = "attend"});
  };
  for (const std::int64_t begin_ns : {99, 100, 199, 200, 299, 300}) take(begin_ns);
  windows->close(400);
  take(400);
  const auto mark_in_windows = [&](std::int64_t time_ns, std::uint32_t flags, std::uint32_t id) {
    of_windows.take(MarkerRecord{.time_ns = time_ns, .flags = flags, .id = id, .thread = 5, .name = "step"});
  };
  mark_in_windows(50, kBegin, 1);
  mark_in_windows(150, kBegin, 2);
  mark_in_windows(160, kEnd, 1);
  of_windows.end_ranges(250);
  mark_in_windows(310, kBegin, 3);
  mark_in_windows(450, kEnd, 3);
  of_windows.finish();
  std::vector<std::pair<std::int64_t, std::int64_t>> kernels, ranges;
  for (const KeptTrace::KeptTrack& track : sink.tracks())
    for (const RingRecord& record : track.records)
      (event_category(record.span.flags) == EventCategory::kKernel ? kernels : ranges)
          .emplace_back(record.span.begin_ns, record.span.end_ns);
  std::ranges::sort(kernels);
  std::ranges::sort(ranges);
  using Spans = std::vector<std::pair<std::int64_t, std::int64_t>>;
  EXPECT_EQ(kernels, (Spans{{100, 250}, {199, 349}, {300, 450}}));
  EXPECT_EQ(ranges, (Spans{{150, kNeverEnded}, {310, 450}}));
  EXPECT_EQ(of_windows.num_left_out(), 4 + 2);
  EXPECT_EQ(sink.ledger().dropped + sink.ledger().unreadable, 0);
}

TEST_F(CuptiTraceTest, AStreamOfNoOpsIsHeldNoLongerThanSomeThousandRecords) {
  for (std::uint32_t i = 1; i < 4'096; ++i) kernel(i * 20, i);
  trace.settle(1'000'000);
  EXPECT_TRUE(sink.tracks().empty());
  kernel(100'000, 5'000);
  trace.settle(1'000'000);
  EXPECT_EQ(only_track().track.rank, std::nullopt);
  EXPECT_EQ(only_track().records.size(), 4'096u);
}

TEST_F(CuptiTraceTest, MemoryIsThatOfEventsThatAreHeldOfRingsAndOfTables) {
  trace.settle(0);
  const std::int64_t empty = trace.memory_bytes();
  EXPECT_EQ(empty, RecentCalls::kBytes);
  for (std::uint32_t i = 1; i <= 1'000; ++i) kernel(i * 20, i);
  trace.finish();
  const std::int64_t held = trace.memory_bytes() - empty, of_records = 1'000 * sizeof(RingRecord);
  EXPECT_GE(held, of_records);
  EXPECT_LT(held, of_records + of_records / 2);
  trace.finish();
  EXPECT_GE(trace.memory_bytes() - empty, static_cast<std::int64_t>(TrackRows::kRingRecords * sizeof(RingRecord)));
}

TEST(CuptiTraceNames, WhatTheSinkHasNoRoomForIsCountedAndNotKept) {
  SharedTraceMemory memory;
  SharedTraceSink full(*memory);
  CuptiTrace of_full(full, {});
  const auto mark = [&](std::int64_t time_ns, const std::string& name) {
    of_full.take(MarkerRecord{.time_ns = time_ns, .flags = kInstant, .thread = 55, .name = name.c_str()});
    of_full.settle(time_ns);
  };
  for (int i = 0; i < 3; ++i) mark(i, "known");
  const std::int64_t before = of_full.memory_bytes();
  memory->log_end = SharedTrace::kLogBytes;
  for (int i = 0; i < 1'000; ++i) mark(10 + i, "step " + std::to_string(i));
  EXPECT_EQ(of_full.memory_bytes(), before);
  EXPECT_EQ(memory->refused[static_cast<std::size_t>(SharedTrace::Entry::kName)].load(), 1'000u);
}

TEST_F(CuptiTraceTest, NumbersThatOthersPushedAreNone) {
  kernel(100, 1);
  trace.take(ExternalCorrelationRecord{
      .external_kind = kOurIds + 1, .correlation = 1, .external_id = pushed_id({.rank = 3, .op = 41})});
  trace.finish();
  EXPECT_EQ(only_track().records.at(0).span.op_id, -1);
}

// As many calls as are remembered lie between the two: the place of the first is that of the second.
TEST_F(CuptiTraceTest, WorkHasTheOpOfItsOwnCallThoughAnOldOneHadItsPlace) {
  constexpr std::uint32_t kRemembered = RecentCalls::kBytes / sizeof(RecentCalls::Call);
  push(7, {.rank = 3, .run = RunId{9}, .op = 41});
  kernel(100, 7);
  kernel(200, 7 + kRemembered);  // by no call that was told of
  trace.settle(1'000);
  trace.take(ApiRecord{.begin_ns = 300, .end_ns = 310, .thread = 55, .correlation = 7 + kRemembered});  // for no op
  kernel(310, 7 + kRemembered);
  kernel(400, 7);  // whose call is forgotten
  trace.finish();
  std::vector<std::int64_t> ops;
  for (const KeptTrace::Kept& kept : sink.records("stream 7")) ops.push_back(kept.record.span.op_id);
  EXPECT_EQ(ops, (std::vector<std::int64_t>{41, -1, -1, -1}));
}

TEST_F(CuptiTraceTest, WhatAStreamIsCalledSaysItsContextWhereADeviceHasSeveral) {
  kernel(100, 1, "attend", {0, 1, 7});
  kernel(100, 2, "attend", {0, 2, 7});
  kernel(100, 3, "attend", {1, 2, 7});
  trace.finish();
  std::vector<std::string> names;
  for (const KeptTrace::KeptTrack& kept : sink.tracks()) names.push_back(*kept.track.device + " " + kept.track.name);
  EXPECT_EQ(names, (std::vector<std::string>{"GPU 0 stream 7", "GPU 0 stream 7 of context 2", "GPU 1 stream 7"}));
}

TEST_F(CuptiTraceTest, NamesOfKernelsAreAsTheirSourceHasThem) {
  kernel(100, 1, "_ZN7spscope6attendEi");
  kernel(200, 2, "plain");
  kernel(300, 3, nullptr);
  trace.finish();
  std::vector<std::string> names;
  for (const RingRecord& record : only_track().records) names.push_back(sink.name_of(record.span.name));
  EXPECT_EQ(names, (std::vector<std::string>{"spscope::attend(int)", "plain", ""}));
}

TEST_F(CuptiTraceTest, AWaitIsOnTheThreadOfItsCall) {
  trace.take(
      ApiRecord{.begin_ns = 100, .end_ns = 300, .driver = true, .callback = 126, .thread = 55, .correlation = 8});
  trace.take(SynchronizationRecord{.begin_ns = 110, .end_ns = 290, .type = 3, .correlation = 8, .stream = 7});
  trace.take(SynchronizationRecord{.begin_ns = 400, .end_ns = 500, .type = 3, .correlation = 9, .stream = 7});
  // None of the chosen calls.
  trace.take(ApiRecord{.begin_ns = 1, .end_ns = 2, .driver = true, .callback = 123, .thread = 55, .correlation = 7});
  trace.finish();
  EXPECT_EQ(trace.num_parts(), 1);
  ASSERT_EQ(sink.records("thread 55: calls").size(), 1u);
  EXPECT_EQ(sink.records("thread 55: calls").at(0).name, "cuStreamSynchronize");
  EXPECT_EQ(sink.records("thread 55: waits").at(0).name, "wait for a stream");
  EXPECT_EQ(sink.records("waits").size(), 1u);
}

TEST_F(CuptiTraceTest, ThreadsWithoutEndShareATrackAndStreamsKeepTheirs) {
  for (std::uint32_t thread = 1; thread <= 2'000; ++thread) {
    trace.take(ApiRecord{.begin_ns = thread * 10,
                         .end_ns = thread * 10 + 20,
                         .driver = true,
                         .callback = 126,
                         .thread = thread,
                         .correlation = thread});
    trace.take(SynchronizationRecord{
        .begin_ns = thread * 10 + 1, .end_ns = thread * 10 + 15, .type = 3, .correlation = thread, .stream = 7});
    if (thread % 100 == 0) trace.settle(thread * 10);
  }
  kernel(100'000, 3'000, "attend", {0, 1, 7});
  trace.finish();
  EXPECT_LE(sink.tracks().size(), 515u);
  std::size_t calls = 0, waits = 0;
  for (const KeptTrace::KeptTrack& kept : sink.tracks()) {
    EXPECT_EQ(kept.track.overlapping, kept.track.name.starts_with("other threads: ")) << kept.track.name;
    calls += kept.track.name.ends_with("calls") ? kept.records.size() : 0;
    waits += kept.track.name.ends_with("waits") ? kept.records.size() : 0;
  }
  EXPECT_EQ(calls, 2'000u);
  EXPECT_EQ(waits, 2'000u);
  EXPECT_GT(sink.records("other threads: calls").size(), 1'000u);
}

TEST_F(CuptiTraceTest, RangesOfAThreadLieBelowThoseTheyAreIn) {
  mark(10, kBegin, 1, "step");
  mark(20, kBegin, 2, "layer", "torch");
  mark(25, kInstant, 3, "here");
  mark(30, kEnd, 2);
  mark(40, kEnd, 1);
  trace.finish();
  std::vector<std::string> found;
  for (const KeptTrace::KeptTrack& kept : sink.tracks())
    for (const RingRecord& record : kept.records) {
      const SpanEvent& span = record.span;
      EXPECT_EQ(span.flags, event_flags(EventCategory::kAnnotation, kept.track.slot));
      found.push_back(kept.track.name + " " + std::to_string(kept.track.slot) + " " + sink.name_of(span.name) + " " +
                      std::to_string(span.begin_ns) + "-" + std::to_string(span.end_ns));
    }
  EXPECT_EQ(found, (std::vector<std::string>{"thread 55: NVTX 0 step 10-40", "thread 55: NVTX 1 torch: layer 20-30",
                                             "thread 55: NVTX 2 here 25-25"}));
  EXPECT_EQ(trace.num_parts(), 2) << "an end each";
}

TEST_F(CuptiTraceTest, ARangeWithoutBeginIsCountedAndOneWithoutEndIsUnfinished) {
  mark(10, kEnd, 1);
  mark(20, kBegin, 2, "lost");
  mark(30, kBegin, 2, "again");  // the number is used anew
  mark(40, kBegin, 3, "open");
  mark(50, kEnd, 2);
  trace.finish();
  EXPECT_EQ(sink.ledger("thread 55: NVTX"), (LedgerRecord{.sent = 4, .stored = 3, .dropped = 1}));
  std::map<std::string, std::int64_t> ends;
  for (const KeptTrace::Kept& kept : sink.records("thread 55: NVTX")) {
    ends[kept.name] = kept.record.span.end_ns;
    EXPECT_EQ((kept.record.span.flags & kEventUnfinished) != 0, kept.record.span.end_ns == kNeverEnded) << kept.name;
  }
  EXPECT_EQ(ends, (std::map<std::string, std::int64_t>{{"lost", kNeverEnded}, {"again", 50}, {"open", kNeverEnded}}));
  EXPECT_EQ(trace.num_parts(), 1);
}

}  // namespace
}  // namespace spscope::cupti
