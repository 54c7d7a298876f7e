// What a lane writes: a ring loses nothing but what it counts and keeps the order (shared_trace_test.cpp has two
// threads that share one), and a line that is read while its lane writes it is never a mixture of two states.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "backend/base/error.h"
#include "backend/base/rng.h"
#include "backend/record/event_ring.h"
#include "backend/record/now_page.h"
#include "tests/support/temporary_folder.h"

namespace spscope {
namespace {

RingRecord record_of(std::int64_t i) {
  RingRecord record;
  record.span.begin_ns = i;
  record.span.end_ns = i + 1;
  record.span.op_id = -i;
  record.run = RunId{i};
  record.bytes = 3 * i;
  record.peer = static_cast<int>(i % 7);
  return record;
}

void expect_record(const RingRecord& record, std::int64_t i) {
  EXPECT_EQ(record.span, record_of(i).span);
  EXPECT_EQ(record.run, RunId{i});
  EXPECT_EQ(record.bytes, 3 * i);
  EXPECT_EQ(record.peer, i % 7);
}

TEST(EventRing, HasRoomForAtLeastWhatWasAsked) {
  for (const std::size_t asked : {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{1000}}) {
    EventRing ring(asked);
    EXPECT_GE(ring.capacity(), asked);
    for (std::size_t i = 0; i < ring.capacity(); ++i) EXPECT_TRUE(ring.push(record_of(static_cast<std::int64_t>(i))));
    EXPECT_FALSE(ring.push(record_of(0)));
    EXPECT_EQ(ring.sent(), static_cast<std::int64_t>(ring.capacity()) + 1);
    EXPECT_EQ(ring.dropped(), 1);
    EXPECT_EQ(ring.waiting().size(), ring.capacity());
  }
}

// Pushes and takes in random bursts on one thread: what comes out is what went in but for what was refused.
TEST(EventRing, GivesBackInOrderWhatItTook) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Rng rng(seed);
    EventRing ring(64);
    std::vector<std::int64_t> accepted;
    std::size_t taken = 0;
    std::int64_t next = 0;
    for (int round = 0; round < 2000; ++round) {
      for (auto n = static_cast<int>(rng.uniform() * 60); n > 0; --n, ++next)
        if (ring.push(record_of(next))) accepted.push_back(next);
      const std::span<const RingRecord> waiting = ring.waiting();
      const auto take = static_cast<std::size_t>(rng.uniform() * static_cast<double>(waiting.size() + 1));
      for (std::size_t i = 0; i < take; ++i) expect_record(waiting[i], accepted.at(taken + i));
      ring.release(take);
      taken += take;
    }
    EXPECT_EQ(ring.sent(), next);
    EXPECT_EQ(ring.dropped(), next - static_cast<std::int64_t>(accepted.size()));
    EXPECT_GT(ring.dropped(), 0);
    EXPECT_GT(taken, ring.capacity() * 10);
  }
}

// One that would sleep for an hour, whichever moment of its falling asleep a record meets.
TEST(EventRing, WakesAReaderThatSleeps) {
  constexpr int kRounds = 2000;
  constexpr auto kSleeps = ReaderSleep::State::kSleeps;
  ReaderSleep sleep;
  EventRing ring(16, &sleep);
  std::atomic<int> taken{0};
  std::thread reader([&] {
    while (taken < kRounds) {
      sleep.begin(kSleeps);
      const std::size_t found = ring.waiting().size();
      ring.release(found);
      taken += static_cast<int>(found);
      if (found == 0) sleep.wait(kSleeps, std::chrono::hours(1));
    }
  });
  for (int i = 0; i < kRounds; ++i) {
    EXPECT_TRUE(ring.push(record_of(i)));
    while (taken <= i) std::this_thread::yield();
  }
  reader.join();
}

// Every field follows from one number, so a mixture shows.
LaneNow state_of(std::int64_t i) {
  LaneNow now;
  now.state = static_cast<LaneState>(i % kNumLaneStates);
  now.op = static_cast<OpId>(i % 1'000'003);
  now.sequence = static_cast<std::int32_t>(i % 1'000'003);
  now.run = RunId{i};
  now.peer = static_cast<int>(i % 1'000'003);
  now.repeat = static_cast<int>(i % 1000) - 1;
  now.bytes = i;
  now.begin_ns = i;
  now.sent = i;
  now.dropped = i / 2;
  now.waits_for = static_cast<OpId>(i % 1'000'003) - 1;
  return now;
}

TEST(NowLine, AReaderSeesOneStateOrAnother) {
  const TemporaryFolder folder;
  NowPageWriter page(folder / "page.now", this_process(3, 1, 2, {}));
  page.line(3, 1).publish(state_of(1));
  std::atomic<bool> enough{false};
  std::thread lane([&] {
    for (std::int64_t i = 2; !enough.load(std::memory_order_relaxed); ++i) page.line(3, 1).publish(state_of(i));
  });
  std::int64_t last = 0;
  int whole = 0;
  for (int i = 0; i < 3000; ++i) {
    const NowPage::Line line = read_now_page(page.path()).lines.at(1);
    EXPECT_EQ(line.rank, 3);
    EXPECT_EQ(line.lane, 1);
    if (!line.whole) continue;
    ++whole;
    const auto number = static_cast<std::int64_t>(line.now.run);
    EXPECT_EQ(line.now, state_of(number));
    EXPECT_GE(number, last);
    last = number;
  }
  enough = true;
  lane.join();
  EXPECT_GT(whole, 0);
  EXPECT_TRUE(read_now_page(page.path()).lines.at(1).whole);
}

// Another process maps the page; a beat changes nothing but the generation.
TEST(NowLine, AViewSeesTheLinesOfItsPage) {
  const TemporaryFolder folder;
  NowPageWriter page(folder / "page.now", this_process(3, 2, 2, {}));
  const NowPageView view(page.path());
  EXPECT_EQ(view.line(2, 0), nullptr);
  EXPECT_EQ(view.line(5, 0), nullptr);
  EXPECT_EQ(view.line(3, 2), nullptr);
  ASSERT_NE(view.line(4, 1), nullptr);
  EXPECT_EQ(view.line(4, 1)->read(), LaneNow());
  page.line(4, 1).publish(state_of(5));
  EXPECT_EQ(view.line(4, 1)->read(), state_of(5));
  EXPECT_EQ(view.line(4, 0)->read(), LaneNow());
  const std::uint64_t before = view.line(4, 1)->generation();
  page.line(4, 1).beat();
  EXPECT_GT(view.line(4, 1)->generation(), before);
  EXPECT_EQ(view.line(4, 1)->read(), state_of(5));
  EXPECT_EQ(read_now_page(page.path()).lines.at(3).now, state_of(5));
  EXPECT_THROW(NowPageView(folder / "none.now"), Error);
}

TEST(NowLine, AMirrorHasTheGenerationOfItsOriginal) {
  NowLine original, mirror;
  for (int i = 1; i < 4; ++i) original.publish(state_of(i));
  mirror.mirror(original.read(), original.generation());
  EXPECT_EQ(mirror.read(), state_of(3));
  EXPECT_EQ(mirror.generation(), original.generation());
}

}  // namespace
}  // namespace spscope
