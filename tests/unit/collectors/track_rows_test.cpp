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
  static std::vector<Times> times_of(const KeptTrace::KeptTrack& kept) {
    std::vector<Times> times;
    for (const RingRecord& record : kept.records) {
      times.emplace_back(record.span.begin_ns, record.span.end_ns);
      EXPECT_EQ(record.span.flags, event_flags(EventCategory::kKernel, kept.track.slot));
    }
    return times;
  }
  std::vector<Times> row(int slot) {
    for (const KeptTrace::KeptTrack& kept : sink.tracks())
      if (kept.track.slot == slot) return times_of(kept);
    return {};
  }
};

TEST_F(TrackRowsTest, WorkLiesByItsBeginOnTheFirstRowThatIsFree) {
  const struct {
    const char* what;
    std::vector<Times> added;
    std::vector<std::vector<Times>> rows;
  } cases[] = {{"in any order", {{30, 40}, {10, 20}, {20, 30}}, {{{10, 20}, {20, 30}, {30, 40}}}},
               {"what overlaps",
                {{0, 100}, {10, 50}, {20, 60}, {50, 70}, {60, 80}, {100, 110}},
                {{{0, 100}, {100, 110}}, {{10, 50}, {50, 70}}, {{20, 60}, {60, 80}}}},
               {"of what begins together the longest first", {{0, 10}, {0, 100}}, {{{0, 100}}, {{0, 10}}}}};
  for (const auto& [what, added, expected] : cases) {
    SCOPED_TRACE(what);
    TrackRows added_rows(sink, {.kind = TrackKind::kDeviceStream, .name = what});
    for (const Times& times : added) added_rows.add(work(times.first, times.second));
    added_rows.settle(kAll);
    std::vector<std::vector<Times>> found;
    for (const KeptTrace::KeptTrack& kept : sink.tracks()) {
      if (kept.track.name != what) continue;
      EXPECT_EQ(kept.track.slot, std::ssize(found));
      EXPECT_FALSE(kept.track.overlapping);
      found.push_back(times_of(kept));
    }
    EXPECT_EQ(found, expected);
  }
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

struct RoomWaitTest : testing::Test {
  TrackRows rows(int stream) {
    return {sink, {.kind = TrackKind::kDeviceStream, .name = "stream " + std::to_string(stream)}, wait};
  }
  // How long it takes to hand over so much work.
  std::int64_t settle_ns(TrackRows& rows, int count) {
    for (int i = 0; i < count; ++i, ++next_ns) rows.add(work(next_ns, next_ns + 1));
    const std::int64_t begin_ns = now_ns();
    rows.settle(kAll);
    return now_ns() - begin_ns;
  }
  KeptTrace sink{4};
  std::shared_ptr<RoomWait> wait = std::make_shared<RoomWait>();
  std::int64_t next_ns = 0;
};

TEST_F(RoomWaitTest, OneSecondForAllTracksOfAReaderThatIsGone) {
  std::vector<TrackRows> tracks;
  for (int i = 0; i < 10; ++i) tracks.push_back(rows(i));
  const std::int64_t first_ns = settle_ns(tracks[0], 8);
  std::int64_t others_ns = 0;
  for (std::size_t i = 1; i < 10; ++i) others_ns += settle_ns(tracks[i], 8);
  EXPECT_GE(first_ns, 1'000'000'000);
  EXPECT_LT(others_ns, 900'000'000) << "none of them waits once more";
  EXPECT_EQ(sink.ledger(), (LedgerRecord{.sent = 80, .stored = 40, .dropped = 40}));
  for (const TrackRows& track : tracks) EXPECT_EQ(track.num_refused(), 4);
}

TEST_F(RoomWaitTest, AReaderThatComesBackIsWaitedForAgain) {
  TrackRows first = rows(0), second = rows(1);
  settle_ns(first, 5);
  sink.take();
  settle_ns(second, 4);
  std::thread reader([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    sink.take();
  });
  settle_ns(second, 1);
  reader.join();
  EXPECT_EQ(sink.ledger("stream 1").dropped, 0);
}

}  // namespace
}  // namespace spscope
