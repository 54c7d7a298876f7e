// Who comes last to collectives of NCCL, from events as attach stores them.
#include "backend/analysis/arrival_skew.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backend/store/observed_run.h"
#include "tests/unit/store/two_ranks.h"

namespace spscope {
namespace {

// A collective on one rank: its device came at `came` and ended at `end`; `called` before.
struct Part {
  std::string communicator, name;
  std::int64_t number;
  int rank;
  std::int64_t came, end;
  int peer = -1;
};

class ArrivalSkewTest : public ::testing::Test {
 protected:
  // Three ranks of four. `ranked`: whether their processes have a rank.
  ArrivalSkew found(const std::vector<Part>& parts, bool ranked = true) {
    const std::string head = folder_ / "a.head.db", out = folder_ / "out.db";
    {
      StoreWriter writer = StoreWriter::shard(head, testing::head_shard(), {.tool_version = "1.0"});
      const RunId run = begin_observed_run(writer, "python3 train.py");
      EventWriter& events = writer.events();
      const auto rank_of = [&](int rank) { return ranked ? std::optional(rank) : std::nullopt; };
      for (int rank = 0; rank < 3; ++rank) {
        const TrackId stream = events.add_track(
            {.rank = rank_of(rank), .kind = TrackKind::kDeviceStream, .name = "stream 7", .device = "GPU 0"});
        const std::uint32_t kernel = event_flags(EventCategory::kKernel);
        events.append(
            kNoRun, stream,
            std::vector<WorkEvent>{{{0, rank == 2 ? 30 : 20, -1, events.name("gemm"), kernel}, 0, 1, 0},
                                   {{100, 300, -1, events.name("ncclDevKernel_AllReduce"), kernel}, 0, 2, 0}});
        for (const char* const communicator : {"0x00f3a2b1c4d5e6f7", "0x11f3a2b1c4d5e6f7"}) {
          std::vector<CollectiveEvent> of_rank;
          for (const Part& part : parts) {
            if (part.rank != rank || part.communicator != communicator) continue;
            CollectiveEvent e;
            e.span = {part.came - 5, part.end, -1, events.name(part.name), event_flags(EventCategory::kTransfer)};
            e.entry_ns = part.came - 5, e.transfer_begin_ns = part.came, e.transfer_end_ns = part.end;
            e.sequence = part.number, e.peer = part.peer;
            of_rank.push_back(e);
          }
          if (of_rank.empty()) continue;
          const TrackId track = events.add_track({.rank = rank_of(rank),
                                                  .overlapping = true,
                                                  .kind = TrackKind::kForeign,
                                                  .name = fmt::format("NCCL {} rank {} of 4", communicator, rank)});
          events.append(kNoRun, track, of_rank);
        }
      }
      end_observed_run(writer, {.run = run, .ranks = 3, .finished = true, .begin_ns = 0, .end_ns = 1000});
      writer.finish();
    }
    testing::merge(out, {head});
    ArrivalSkew skew = arrival_skew(StoreReader(out));
    std::filesystem::remove(head);
    std::filesystem::remove(out);
    return skew;
  }
  TemporaryFolder folder_;
};

const std::string kOne = "0x00f3a2b1c4d5e6f7", kOther = "0x11f3a2b1c4d5e6f7";

// Rank 2 is last to both, whose waits overlap on rank 0; rank 1 is last to a third. The clock of rank 1 is 1000 off.
TEST_F(ArrivalSkewTest, TheLastToComeTakesShortest) {
  std::vector<Part> parts = {{kOne, "AllReduce", 0, 0, 100, 200},          {kOne, "AllReduce", 0, 1, 1150, 1200},
                             {kOne, "AllReduce", 0, 2, 190, 200},          {kOther, "AllGather", 0, 0, 150, 300},
                             {kOther, "AllGather", 0, 2, 290, 300},        {kOne, "AllReduce", 1, 0, 400, 460},
                             {kOne, "AllReduce", 1, 1, 1450, 1460},        {kOne, "Broadcast from 0", 2, 0, 500, 501},
                             {kOne, "Broadcast from 0", 2, 1, 1480, 1501}, {kOne, "Send", 3, 0, 600, 601, 1},
                             {kOne, "Send", 3, 1, 1580, 1601, 0},          {kOther, "AllReduce", 7, 0, 700, 800}};
  const ArrivalSkew skew = found(parts);
  EXPECT_EQ(std::tuple(skew.collectives, skew.ranks, skew.largest_communicator), std::tuple(3, 3, 4));
  ASSERT_EQ(skew.last.size(), 2u);
  // 100 to 190 and 150 to 290 on rank 0, 1150 to 1190 on rank 1.
  EXPECT_EQ(std::tuple(skew.last[0].rank, skew.last[0].last_in, skew.last[0].others_wait_ns), std::tuple(2, 2, 230));
  EXPECT_EQ(std::tuple(skew.last[1].rank, skew.last[1].last_in, skew.last[1].others_wait_ns), std::tuple(1, 1, 50));
  EXPECT_EQ(skew.wait_ns(), 280);
  EXPECT_DOUBLE_EQ(skew.last[0].kernels.value_or(0), 1.5);
  // Rank 1 of one communicator may be another process than rank 1 of another.
  const ArrivalSkew nameless = found(parts, false);
  EXPECT_EQ(nameless.nameless_communicators, 2);
  EXPECT_TRUE(nameless.last.empty());
}

TEST_F(ArrivalSkewTest, OneCommunicatorNumbersProcessesWithoutARank) {
  const ArrivalSkew skew = found({{kOne, "AllReduce", 0, 0, 100, 200}, {kOne, "AllReduce", 0, 1, 190, 200}}, false);
  ASSERT_EQ(skew.last.size(), 1u);
  EXPECT_EQ(std::tuple(skew.last[0].rank, skew.last[0].others_wait_ns), std::tuple(1, 90));
  EXPECT_FALSE(skew.last[0].kernels) << "of a process without a rank, no kernel names one";
}

TEST_F(ArrivalSkewTest, NeedsTwoRanks) {
  const ArrivalSkew skew = found({{kOne, "AllReduce", 0, 0, 100, 200}, {kOther, "AllReduce", 0, 1, 100, 200}});
  EXPECT_EQ(skew.collectives, 0);
  EXPECT_TRUE(skew.last.empty());
}

}  // namespace
}  // namespace spscope
