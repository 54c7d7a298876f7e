// A ring loses nothing but what it counts, and keeps the order; shared_trace_test.cpp has two threads that share one.
#include <gtest/gtest.h>

#include <vector>

#include "backend/base/rng.h"
#include "backend/record/event_ring.h"

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

}  // namespace
}  // namespace spscope
