#include "backend/record/judge_lanes.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace spscope {
namespace {

RankTrouble trouble_of(const StuckLane& lane) {
  if (lane.process == ProcessState::kKilled) return RankTrouble::kKilled;
  if (lane.process == ProcessState::kLost) return RankTrouble::kLost;
  if (lane.process == ProcessState::kStopped) return RankTrouble::kStopped;
  if (waits(lane.now)) return RankTrouble::kWaiting;
  return lane.computes ? RankTrouble::kSlow : RankTrouble::kHung;
}

// Of several processes that are gone, those whose last word was that they waited went after the one they waited for.
int order_of_end(const StuckLane& lane, const std::set<int>& awaited) {
  const bool gone = lane.trouble == RankTrouble::kKilled || lane.trouble == RankTrouble::kLost;
  if (!gone) return 0;
  if (lane.now.inside_op() && waits(lane.now)) return 2;
  return awaited.contains(lane.rank) ? 0 : 1;
}

}  // namespace

bool waits(const LaneNow& now) { return now.waits_for != kNone || now.state == LaneState::kWaitingForPeer; }

void judge_lanes(std::vector<StuckLane>& lanes) {
  std::set<int> awaited;
  for (StuckLane& lane : lanes) {
    lane.trouble = trouble_of(lane);
    if (lane.now.inside_op() && waits(lane.now)) awaited.insert(lane.now.peer);
  }
  std::ranges::stable_sort(lanes, {}, [&](const StuckLane& lane) {
    const bool inside = lane.now.inside_op();
    return std::tuple(lane.trouble, order_of_end(lane, awaited), inside && waits(lane.now),
                      inside ? lane.now.sequence : 0, lane.rank);
  });
}

}  // namespace spscope
