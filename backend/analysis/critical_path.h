// The critical path of one layer pass: the chain of operations, through ranks and messages, that made it take so long;
// and the slack of every operation.
//
// The chain is followed back from the op that ends last (of equal ones the lowest). An op began when the last of three
// had happened, and the chain goes on there:
//   * an op that it depends on, or the op before it on its lane, had ended; where a schedule made the times, one of
//     another rank one latency ago, and that latency is a gap of the path;
//   * of communication, the last partner had posted (partners.h). Then the chain moves to that rank, and on with what
//     its op came after: so no time on the path is a wait for a late peer.
// Between the end of what came before and its own begin nothing that the plan knows of kept an op: its host had not
// issued it yet, a kernel took time to launch, or the layer pass before kept its rank. Such gaps are steps too.
//
// What slows a transfer that shares links with others is part of that transfer. Times of the ops of one rank with a
// clock that is a little off another's are cut, so that steps never overlap.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "backend/analysis/time_terms.h"

namespace spscope {

// What the time of a step is. Late peer, the fourth part of a makespan, is 0 on every path.
enum class PathShare { kCompute, kWire, kIdle };
inline constexpr int kNumPathShares = 3;
std::string_view path_share_name(PathShare share);  // "compute", "wire", "idle"

// Why an op began when it did.
enum class PathCause {
  kStart,        // it comes after nothing
  kLaneBefore,   // the op before it on its lane ended last
  kDependency,   // a compute op that it needs ended last
  kTransfer,     // a communication that it needs ended last
  kLatePartner,  // its partner posted last
};
std::string_view path_cause_name(PathCause cause);  // "late_partner"

struct PathStep {
  OpId op = kNone;  // that runs, or of a gap the one that does not run yet
  int rank = 0;
  PathCause cause = PathCause::kStart;
  OpId after = kNone;  // the op that it came after; of kLatePartner the partner's, which posted
  PathShare share = PathShare::kCompute;
  std::int64_t begin_ns = 0, end_ns = 0;  // on the clock of the timeline
  std::int64_t ns() const { return end_ns - begin_ns; }
};

struct CriticalPath {
  // In order of time. The first begins at the first post of any op, each at the end of the one before, and the last one
  // ends with the last op: their times add up to Timeline::makespan_ns().
  std::vector<PathStep> steps;
  std::int64_t of(PathShare share) const;
  std::int64_t total_ns() const;
};

// The path begins at `zero_ns` where that is before the first post: the zero of a timeline that a schedule made.
// `network`: of that schedule; nullptr where times were measured. REQUIRES: a timeline of this plan. Takes O(ops +
// dependencies + messages).
CriticalPath critical_path(const Plan& plan, const Timeline& timeline, std::int64_t zero_ns = INT64_MAX,
                           const Network* network = nullptr);

// The time of a path from `from_ns` on by the terms of a makespan: each step of an op is divided as in op_terms.h. A
// gap is `latency` as far as a signal of another rank takes it, else `host` where hosts are modelled, else `idle`. The
// sum is the end of the path minus from_ns, or 0 when that is below 0.
TimeTerms path_terms(const Plan& plan, const Timeline& timeline, const CriticalPath& path, const TimeModels& models,
                     std::int64_t from_ns = INT64_MIN);

// By OpId: how much later the op may end without moving the end of the last op, if all others take as long as they
// took: compute and transfers from begin to end, and each gap between what came before an op and its post. With
// `issue_ns` (HostTimes, by OpId) no op posts before its own issue, and where that made the gap it gets shorter.
// 0 for all ops of the critical path but those before a gap that an issue made. REQUIRES: a timeline of this plan.
std::vector<std::int64_t> op_slack(const Plan& plan, const Timeline& timeline,
                                   std::span<const std::int64_t> issue_ns = {}, const Network* network = nullptr);

}  // namespace spscope
