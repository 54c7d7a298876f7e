#include "backend/analysis/rank_times.h"

#include "backend/analysis/intervals.h"

namespace spscope {
namespace {

// Length of the union of both lists.
std::int64_t length_of_either(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  std::vector<Interval> both = a;
  both.insert(both.end(), b.begin(), b.end());
  return length(joined(std::move(both)));
}

}  // namespace

RankTimes rank_times(const Plan& plan, const Timeline& timeline) {
  return rank_times(plan, timeline, timeline.makespan_ns());
}

RankTimes rank_times(const Plan& plan, const Timeline& timeline, std::int64_t makespan_ns) {
  const auto ranks = static_cast<std::size_t>(plan.ranks);
  std::vector<std::vector<Interval>> compute(ranks), wire(ranks), wait(ranks);
  for (std::size_t i = 0; i < plan.ops.size(); ++i) {
    const Op& op = plan.ops[i];
    const OpTimes& t = timeline.ops[i];
    const auto rank = static_cast<std::size_t>(op.rank);
    if (communicates(plan.kind_of(op))) {
      wait[rank].push_back({t.post_ns, t.begin_ns});
      wire[rank].push_back({t.begin_ns, t.end_ns});
    } else {
      compute[rank].push_back({t.begin_ns, t.end_ns});
    }
  }
  RankTimes times;
  for (std::size_t r = 0; r < ranks; ++r) {
    const std::vector<Interval> busy = joined(std::move(compute[r]));
    std::vector<Interval> moving = joined(std::move(wire[r]));
    const std::int64_t computed = length(busy), covered = length_of_either(busy, moving);
    moving.insert(moving.end(), busy.begin(), busy.end());
    const std::int64_t with_wait = length_of_either(joined(std::move(moving)), wait[r]);
    times.compute_ns.push_back(computed);
    times.wire_ns.push_back(covered - computed);
    times.wait_late_peer_ns.push_back(with_wait - covered);
    times.exposed_comm_ns.push_back(with_wait - computed);
    times.other_ns.push_back(makespan_ns - with_wait);
  }
  return times;
}

std::vector<std::int64_t> attention_times(const Plan& plan, const Timeline& timeline) {
  std::vector<std::int64_t> sums(static_cast<std::size_t>(plan.ranks), 0);
  for (std::size_t i = 0; i < plan.ops.size(); ++i)
    if (plan.kind_of(plan.ops[i]) == PostKind::kAttend)
      sums[static_cast<std::size_t>(plan.ops[i].rank)] += timeline.ops[i].end_ns - timeline.ops[i].begin_ns;
  return sums;
}

}  // namespace spscope
