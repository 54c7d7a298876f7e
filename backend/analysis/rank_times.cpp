#include "backend/analysis/rank_times.h"

namespace spscope {

RankTimes rank_times(const PassDetail& detail) {
  RankTimes times;
  for (const TimeTerms& terms : detail.by_rank) {
    for (int column = 0; column < kNumTimeColumns; ++column)
      (times.*kTimeParts[column].by_rank).push_back(terms.of(static_cast<TimeColumn>(column)));
    times.exposed_comm_ns.push_back(times.wait_late_peer_ns.back() + times.wire_ns.back());
  }
  return times;
}

RankTimes rank_times(const Plan& plan, const Timeline& timeline, std::optional<std::int64_t> makespan_ns) {
  return rank_times(pass_detail(plan, timeline, {}, {makespan_ns.value_or(timeline.makespan_ns()), 0}));
}

std::vector<std::int64_t> attention_times(const Plan& plan, const Timeline& timeline) {
  std::vector<std::int64_t> sums(static_cast<std::size_t>(plan.ranks), 0);
  for (std::size_t i = 0; i < plan.ops.size(); ++i)
    if (plan.kind_of(plan.ops[i]) == PostKind::kAttend)
      sums[static_cast<std::size_t>(plan.ops[i].rank)] += timeline.ops[i].end_ns - timeline.ops[i].begin_ns;
  return sums;
}

}  // namespace spscope
