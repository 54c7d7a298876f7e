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
  return lane.computes == true ? RankTrouble::kSlow : RankTrouble::kHung;
}

// What the waiting lanes wait for: an op that a lane of the list is inside, else any lane of the rank of the op.
struct Awaited {
  std::set<OpId> ops;
  std::set<int> ranks;
  bool contains(const StuckLane& lane) const {
    return ranks.contains(lane.rank) || (lane.now.inside_op() && ops.contains(lane.now.op));
  }
};

Awaited find_awaited(const std::vector<StuckLane>& lanes) {
  std::set<OpId> entered;
  for (const StuckLane& lane : lanes)
    if (lane.now.inside_op()) entered.insert(lane.now.op);
  Awaited awaited;
  for (const StuckLane& lane : lanes) {
    const LaneNow& now = lane.now;
    if (!now.inside_op() || !waits(now)) continue;
    // One that waits for its own op waits for ranks that take part in it.
    if (now.waits_for != now.op && entered.contains(now.waits_for))
      awaited.ops.insert(now.waits_for);
    else if (now.peer >= 0)
      awaited.ranks.insert(now.peer);
  }
  return awaited;
}

// Orders lanes of the same trouble. Of several processes that are gone, those that waited at last went after the one
// that they waited for; of several lanes that wait for nobody, the ones that others wait for hold the run up.
int order_of_cause(const StuckLane& lane, const Awaited& awaited) {
  switch (lane.trouble) {
    case RankTrouble::kKilled:
    case RankTrouble::kLost:
      if (lane.now.inside_op() && waits(lane.now)) return 2;
      return awaited.contains(lane) ? 0 : 1;
    case RankTrouble::kHung:
    case RankTrouble::kSlow:
      return awaited.contains(lane) ? 0 : 1;
    case RankTrouble::kStopped:
    case RankTrouble::kWaiting:
      return 0;
  }
  return 0;
}

}  // namespace

bool waits(const LaneNow& now) { return now.waits_for != kNone || now.state == LaneState::kWaitingForPeer; }

void judge_lanes(std::vector<StuckLane>& lanes) {
  for (StuckLane& lane : lanes) lane.trouble = trouble_of(lane);
  const Awaited awaited = find_awaited(lanes);
  std::ranges::stable_sort(lanes, {}, [&](const StuckLane& lane) {
    const bool inside = lane.now.inside_op();
    return std::tuple(lane.trouble, order_of_cause(lane, awaited), inside && waits(lane.now),
                      inside ? lane.now.sequence : 0, lane.rank);
  });
}

}  // namespace spscope
