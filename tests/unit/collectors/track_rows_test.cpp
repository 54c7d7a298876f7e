#include "collectors/track_rows.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "backend/base/clock.h"
#include "tests/support/kept_trace.h"

namespace spscope {
namespace {

constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();

RingRecord work(std::int64_t begin_ns, std::int64_t end_ns) {
  return RingRecord::of(
      WorkEvent{.span = {.begin_ns = begin_ns, .end_ns = end_ns, .flags = event_flags(EventCategory::kKernel)}});
}

using Times = std::pair<std::int64_t, std::int64_t>;

struct TrackRowsTest : testing::Test {
  KeptTrace sink;
  TrackRows rows{sink, {.kind = TrackKind::kDeviceStream, .name = "stream 7"}};

  // Begin and end of what is on a row, in the order in which it was handed over.
  std::vector<Times> row(int slot) {
    std::vector<Times> times;
    for (const KeptTrace::KeptTrack& kept : sink.tracks())
      if (kept.track.slot == slot)
        for (const RingRecord& record : kept.records) {
          times.emplace_back(record.span.begin_ns, record.span.end_ns);
          EXPECT_EQ(record.span.flags, event_flags(EventCategory::kKernel, slot));
        }
    return times;
  }
};

TEST_F(TrackRowsTest, WorkThatComesInAnyOrderIsHandedOverByItsBegin) {
  for (const Times& times : {Times{30, 40}, {10, 20}, {20, 30}}) rows.add(work(times.first, times.second));
  rows.settle(kAll);
  EXPECT_EQ(row(0), (std::vector<Times>{{10, 20}, {20, 30}, {30, 40}}));
  ASSERT_EQ(sink.tracks().size(), 1u);
  EXPECT_EQ(sink.tracks()[0].track, (Track{.kind = TrackKind::kDeviceStream, .name = "stream 7"}));
}

TEST_F(TrackRowsTest, WhatOverlapsGoesToTheFirstRowThatIsFree) {
  for (const Times& times : {Times{0, 100}, {10, 50}, {20, 60}, {50, 70}, {60, 80}, {100, 110}})
    rows.add(work(times.first, times.second));
  rows.settle(kAll);
  EXPECT_EQ(row(0), (std::vector<Times>{{0, 100}, {100, 110}}));
  EXPECT_EQ(row(1), (std::vector<Times>{{10, 50}, {50, 70}}));
  EXPECT_EQ(row(2), (std::vector<Times>{{20, 60}, {60, 80}}));
  for (const KeptTrace::KeptTrack& kept : sink.tracks()) EXPECT_FALSE(kept.track.overlapping);
}

TEST_F(TrackRowsTest, OfWhatBeginsTogetherTheLongestComesFirst) {
  rows.add(work(0, 10));
  rows.add(work(0, 100));
  rows.settle(kAll);
  EXPECT_EQ(row(0), (std::vector<Times>{{0, 100}}));
  EXPECT_EQ(row(1), (std::vector<Times>{{0, 10}}));
}

TEST_F(TrackRowsTest, WhatHasNotEndedByThenIsHeld) {
  int completed = 0;
  const auto complete = [&](RingRecord& record) { record.bytes = ++completed; };
  for (const Times& times : {Times{0, 100}, {40, 101}, {10, 20}}) rows.add(work(times.first, times.second));
  rows.settle(100, complete);
  EXPECT_EQ(completed, 2);
  EXPECT_EQ(rows.num_held(), 1u);
  EXPECT_EQ(row(0), (std::vector<Times>{{0, 100}}));
  EXPECT_EQ(row(1), (std::vector<Times>{{10, 20}}));
  EXPECT_NE(rows.find_held([](const RingRecord& record) { return record.span.begin_ns == 40; }), nullptr);
  EXPECT_EQ(rows.find_held([](const RingRecord& record) { return record.span.begin_ns == 10; }), nullptr);
  // Work that comes late finds no place before what was settled.
  rows.add(work(5, 30));
  rows.settle(kAll, complete);
  EXPECT_EQ(row(1), (std::vector<Times>{{10, 20}, {40, 101}}));
  EXPECT_EQ(row(2), (std::vector<Times>{{5, 30}}));
  EXPECT_EQ(rows.num_held(), 0u);
  for (const KeptTrace::KeptTrack& kept : sink.tracks())
    for (const RingRecord& record : kept.records) EXPECT_GT(record.bytes, 0) << "completed before it was handed over";
}

TEST_F(TrackRowsTest, WorkMayAskForALowerRow) {
  rows.add(work(0, 10), 2);
  rows.add(work(20, 30), 1);
  rows.settle(kAll);
  EXPECT_EQ(row(2), (std::vector<Times>{{0, 10}}));
  EXPECT_EQ(row(1), (std::vector<Times>{{20, 30}}));
  EXPECT_EQ(sink.tracks().size(), 2u) << "rows that nothing is on are not made";
}

TEST_F(TrackRowsTest, WhatNeverEndedTakesNoTimeOfItsRowAndComesLast) {
  rows.add(work(10, kNeverEnded));
  rows.add(work(20, 30));
  rows.settle(1'000);
  EXPECT_EQ(row(0), (std::vector<Times>{{20, 30}}));
  rows.settle(kAll);
  EXPECT_EQ(row(1), (std::vector<Times>{{10, kNeverEnded}}));
  rows.add(work(25, 40));
  rows.settle(kAll);
  EXPECT_EQ(row(1), (std::vector<Times>{{10, kNeverEnded}, {25, 40}}));
}

TEST_F(TrackRowsTest, WhatFindsAllRowsTakenGoesToOneMoreWhereItMayOverlap) {
  for (int i = 0; i < TrackRows::kMaxRows + 8; ++i) rows.add(work(i, 1'000 - i));
  rows.settle(kAll);
  ASSERT_EQ(sink.tracks().size(), TrackRows::kMaxRows + 1u);
  for (int slot = 0; slot < TrackRows::kMaxRows; ++slot) EXPECT_EQ(row(slot).size(), 1u) << slot;
  EXPECT_EQ(row(TrackRows::kMaxRows).size(), 8u);
  for (const KeptTrace::KeptTrack& kept : sink.tracks())
    EXPECT_EQ(kept.track.overlapping, kept.track.slot == TrackRows::kMaxRows);
}

TEST(TrackRows, WaitsForRoomWhileARingIsRead) {
  KeptTrace sink(4);
  TrackRows rows(sink, {.kind = TrackKind::kDeviceStream});
  for (int i = 0; i < 200; ++i) rows.add(work(i, i + 1));
  std::atomic<bool> settled = false;
  std::thread reader([&] {
    while (!settled) {
      sink.take();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  rows.settle(kAll);
  settled = true;
  reader.join();
  EXPECT_EQ(sink.ledger(), (LedgerRecord{.sent = 200, .stored = 200}));
  EXPECT_EQ(rows.num_refused(), 0);
}

TEST(TrackRows, WithoutAReaderItWaitsOnceAndTheRestIsCounted) {
  KeptTrace sink(4);
  TrackRows rows(sink, {.kind = TrackKind::kDeviceStream});
  for (int i = 0; i < 20; ++i) rows.add(work(i, i + 1));
  const std::int64_t begin_ns = now_ns();
  rows.settle(kAll);
  EXPECT_LT(now_ns() - begin_ns, 10'000'000'000) << "16 waits would take longer";
  EXPECT_EQ(sink.ledger(), (LedgerRecord{.sent = 20, .stored = 4, .dropped = 16}));
  EXPECT_EQ(rows.num_refused(), 16);
}

}  // namespace
}  // namespace spscope
