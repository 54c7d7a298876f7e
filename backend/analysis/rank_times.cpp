#include "backend/analysis/rank_times.h"

#include <algorithm>

namespace spscope {
namespace {

struct Interval {
  std::int64_t begin, end;
};

// Sorted and disjoint.
std::vector<Interval> joined(std::vector<Interval> list) {
  std::erase_if(list, [](const Interval& i) { return i.begin >= i.end; });
  std::ranges::sort(list, {}, &Interval::begin);
  std::size_t n = 0;
  for (const Interval& i : list) {
    if (n > 0 && i.begin <= list[n - 1].end)
      list[n - 1].end = std::max(list[n - 1].end, i.end);
    else
      list[n++] = i;
  }
  list.resize(n);
  return list;
}

std::int64_t length(const std::vector<Interval>& list) {
  std::int64_t sum = 0;
  for (const Interval& i : list) sum += i.end - i.begin;
  return sum;
}

// Length of the union of both lists.
std::int64_t length_of_either(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  std::vector<Interval> both = a;
  both.insert(both.end(), b.begin(), b.end());
  return length(joined(std::move(both)));
}

}  // namespace

RankTimes rank_times(const Plan& plan, const Timeline& timeline) {
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
  const std::int64_t makespan = timeline.makespan_ns();
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
    times.other_ns.push_back(makespan - with_wait);
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
