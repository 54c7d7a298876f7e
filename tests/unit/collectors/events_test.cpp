// The collector `events`, told of ops as an executor tells of them. On plans it runs in tests/cli/collect-gpu.sh.
#include <gtest/gtest.h>

#include "collectors/collector.h"
#include "tests/support/kept_trace.h"

namespace spscope {

std::unique_ptr<Collector> start_events(TraceSink& sink, const CollectedProcess& process);

namespace {

RingRecord compute(OpId op) {
  RingRecord record;
  record.span = {.begin_ns = 100, .end_ns = 200, .op_id = op, .name = 7, .flags = event_flags(EventCategory::kAttend)};
  record.run = RunId{3};
  record.bytes = 5;  // of no transfer
  return record;
}

RingRecord transfer(OpId op) {
  RingRecord record = compute(op);
  record.kind = RingKind::kCollective;
  record.transfer_begin_ns = 150;
  record.bytes = 4'096;
  return record;
}

TEST(EventsCollector, AnOpIsAPieceOfWorkAndATransferOneFromWhenDataMoved) {
  KeptTrace sink;
  const std::unique_ptr<Collector> collector = start_events(sink, {.process = "train"});
  collector->op_ended(2, 0, compute(40));
  collector->op_ended(2, 1, transfer(41));
  collector->op_ended(2, 0, compute(42));
  collector->stop();
  ASSERT_EQ(sink.tracks().size(), 2u);
  for (int lane = 0; lane < 2; ++lane)
    EXPECT_EQ(sink.tracks()[static_cast<std::size_t>(lane)].track,
              (Track{.rank = 2,
                     .kind = TrackKind::kDeviceStream,
                     .name = "stream of lane " + std::to_string(lane) + ", by events",
                     .process = "train"}));
  ASSERT_EQ(sink.tracks()[0].records.size(), 2u);
  const WorkEvent computed = {.span = {100, 200, 40, 7, event_flags(EventCategory::kKernel)}};
  EXPECT_EQ(sink.tracks()[0].records[0].work(), computed);
  EXPECT_EQ(sink.tracks()[0].records[0].run, RunId{3});
  EXPECT_EQ(sink.tracks()[0].records[1].span.op_id, 42);
  const WorkEvent moved = {.span = {150, 200, 41, 7, event_flags(EventCategory::kCopy)}, .bytes = 4'096};
  ASSERT_EQ(sink.tracks()[1].records.size(), 1u);
  EXPECT_EQ(sink.tracks()[1].records[0].work(), moved);
  EXPECT_EQ(sink.tracks()[1].records[0].run, RunId{3});
  EXPECT_EQ(collector->cost().records, 3);
  EXPECT_EQ(collector->cost().dropped, 0);
}

}  // namespace
}  // namespace spscope
