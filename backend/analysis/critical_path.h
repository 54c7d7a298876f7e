// The critical path of one layer pass: the chain of operations that the makespan is made of, and the slack of all others.
//
// Walking back from the operation that ended last: an operation ran from its begin to its end; what it began after is
// the last of what it had to wait for. Compute begins after its dependencies and the operation before it on its lane. A
// transfer begins when the last of its partners has posted, so the path goes on at that partner: on the path nobody
// waits for a peer, and time that others wait for a rank is that rank's own work. Time between two operations of the
// path, in which nothing that is recorded ran, is a gap: a host that had not issued, or a rank that started late.
//
// The slack of an operation is how much later it could have ended with the makespan as it is, every other operation
// taking as long as it did: 0 on the path but for what precedes a gap.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/plan/timeline.h"

namespace spscope {

enum class PathKind { kCompute, kTransfer, kGap };

// Why the path came from the step before.
enum class PathLink {
  kStart,       // nothing came before
  kLane,        // it came before on the same lane
  kDependency,  // its result was needed
  kLatePeer,    // its rank was the last to post
};

struct PathStep {
  PathKind kind = PathKind::kGap;
  OpId op = kNone;  // of a gap: the operation that came late
  int rank = 0;
  std::int64_t begin_ns = 0, end_ns = 0;  // from the zero of the timeline
  PathLink link = PathLink::kStart;
};

struct CriticalPath {
  // In order of time; each begins where the one before ends, the first at the first post, the last ends at the last end.
  std::vector<PathStep> steps;
  std::vector<std::int64_t> slack_ns;  // by OpId, never below 0

  std::int64_t total(PathKind kind) const;
};

// Takes O(ops + dependencies + messages). REQUIRES: a timeline of this plan.
CriticalPath critical_path(const Plan& plan, const Timeline& timeline);

// The operations that must have posted before a transfer of this one can begin: of those that it shares messages with,
// of a reduce or barrier all of its group, of a pull or push the one that starts it; itself included.
class Partners {
 public:
  explicit Partners(const Plan& plan);
  std::vector<OpId> of(OpId op) const;
  // The operation of a rank in a post; kNone when it has none.
  OpId op_of(PostId post, int rank) const;

 private:
  const Plan* plan_;
  std::vector<std::vector<std::pair<int, OpId>>> by_post_;  // sorted by rank
};

}  // namespace spscope
