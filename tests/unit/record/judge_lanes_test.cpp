// Which lane is the cause, worked out by hand on few lanes.
#include "backend/record/judge_lanes.h"

#include <gtest/gtest.h>

namespace spscope {
namespace {

StuckLane inside(int rank, PostId sequence, OpId waits_for = kNone, int peer = kNoPeer) {
  StuckLane lane{.rank = rank, .lane = 0};
  lane.now.op = 10 * sequence + rank;
  lane.now.sequence = sequence;
  lane.now.waits_for = waits_for;
  lane.now.peer = peer;
  lane.now.state = LaneState::kTransferring;
  return lane;
}

std::vector<int> ranks_of(std::vector<StuckLane> lanes) {
  judge_lanes(lanes);
  std::vector<int> ranks;
  for (const StuckLane& lane : lanes) ranks.push_back(lane.rank);
  return ranks;
}

TEST(JudgeLanes, TellsTroublesApart) {
  std::vector<StuckLane> lanes = {inside(0, 1), inside(1, 1, 5), inside(2, 1),
                                  inside(3, 1), inside(4, 1),    inside(5, 1)};
  lanes[2].computes = true;
  lanes[3].process = ProcessState::kStopped;
  lanes[4].process = ProcessState::kLost;
  lanes[5].process = ProcessState::kKilled;
  judge_lanes(lanes);
  const std::vector<std::pair<int, RankTrouble>> expected = {{5, RankTrouble::kKilled},  {4, RankTrouble::kLost},
                                                             {3, RankTrouble::kStopped}, {0, RankTrouble::kHung},
                                                             {2, RankTrouble::kSlow},    {1, RankTrouble::kWaiting}};
  ASSERT_EQ(lanes.size(), expected.size());
  for (std::size_t i = 0; i < lanes.size(); ++i)
    EXPECT_EQ(std::pair(lanes[i].rank, lanes[i].trouble), expected[i]) << i;
}

TEST(JudgeLanes, PutsTheLowestPostFirst) {
  EXPECT_EQ(ranks_of({inside(0, 7, 1), inside(1, 5, 1), inside(2, 6, 1)}), (std::vector<int>{1, 2, 0}));
  EXPECT_EQ(ranks_of({inside(0, 7), inside(1, 9, 1), inside(2, 6)}), (std::vector<int>{2, 0, 1}));
}

// 0 and 2 wait for nobody; 1 waits for 2, by the op that 2 is inside or, when 2 has not come to it, by the rank.
TEST(JudgeLanes, OfLanesThatWaitForNobodyPutsFirstTheOneThatIsAwaited) {
  EXPECT_EQ(ranks_of({inside(0, 1), inside(1, 5, 10 * 4 + 2), inside(2, 4)}), (std::vector<int>{2, 0, 1}));
  EXPECT_EQ(ranks_of({inside(0, 1), inside(1, 5, 10 * 9 + 2, 2), inside(2, 4)}), (std::vector<int>{2, 0, 1}));
  // Both lanes of rank 2 wait for nobody, and the op that is awaited is that of its lane 1.
  std::vector<StuckLane> lanes = {inside(2, 4), inside(1, 6, 10 * 5 + 2, 2), inside(2, 5)};
  lanes[2].lane = 1;
  judge_lanes(lanes);
  EXPECT_EQ(lanes[0].lane, 1);
}

// The communication of 1 waits for its own compute, which waits for an op of 3; 0 hangs at an earlier post unnoticed.
TEST(JudgeLanes, FollowsWaitsThroughLanesAndRanks) {
  std::vector<StuckLane> lanes = {inside(0, 1), inside(1, 6, 10 * 5 + 1), inside(1, 5, 10 * 4 + 3, 3), inside(3, 2)};
  lanes[1].lane = 1;
  EXPECT_EQ(ranks_of(lanes), (std::vector<int>{3, 0, 1, 1}));
}

// What an op that waits for its own end exchanges with is what it waits for.
TEST(JudgeLanes, AnOpThatWaitsForItsOwnEndWaitsForItsPeer) {
  EXPECT_EQ(ranks_of({inside(0, 1), inside(1, 5, 10 * 5 + 1, 2), inside(2, 4)}), (std::vector<int>{2, 0, 1}));
}

TEST(JudgeLanes, OneThatComputesIsSlowAndOneThatIsNotKnownToIsHung) {
  std::vector<StuckLane> lanes = {inside(0, 1), inside(1, 2), inside(2, 3)};
  lanes[0].computes = true;
  lanes[1].computes = false;
  EXPECT_EQ(ranks_of(lanes), (std::vector<int>{1, 2, 0}));
}

// 1 waited for 2, and 3 for 1: 2 went first, whoever was found first.
TEST(JudgeLanes, OfProcessesThatAreGonePutsFirstTheOneThatWasAwaited) {
  std::vector<StuckLane> lanes = {inside(0, 1), inside(1, 2, 5, 2), inside(2, 9), inside(3, 3, 5, 1)};
  for (StuckLane& lane : lanes) lane.process = ProcessState::kKilled;
  EXPECT_EQ(ranks_of(lanes), (std::vector<int>{2, 0, 1, 3}));
}

TEST(JudgeLanes, ARankBetweenOpsIsJudgedByItsProcess) {
  StuckLane idle{.rank = 4, .process = ProcessState::kStopped};
  EXPECT_EQ(ranks_of({inside(0, 1), idle}), (std::vector<int>{4, 0}));
}

}  // namespace
}  // namespace spscope
