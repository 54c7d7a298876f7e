#include "backend/schedule/imbalance.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "backend/base/check.h"
#include "backend/base/ids.h"
#include "backend/base/stop_point.h"
#include "backend/plan/plan_access.h"
#include "backend/schedule/cost.h"
#include "backend/schedule/schedule.h"

namespace spscope {
namespace {

// Values of queries and keys whose first attend is of a later ring step than 0.
std::vector<bool> travelling_values(const Plan& plan) {
  constexpr int kNever = -1;
  std::vector<int> first_step(plan.values.size(), kNever);
  for (const Post& post : plan.posts) {
    if (post.kind != PostKind::kAttend) continue;
    for (ValueId id : {plan.accumulators[at(post.acc)].q, post.src})
      for_each_base(plan, id, [&](ValueId base) {
        int& first = first_step[at(base)];
        if (first == kNever || post.ring_step < first) first = post.ring_step;
      });
  }
  std::vector<bool> travels(plan.values.size());
  for (std::size_t v = 0; v < travels.size(); ++v) travels[v] = first_step[v] > 0;
  return travels;
}

std::vector<std::int64_t> work_of_attends(const Plan& plan, std::span<const std::int64_t> work) {
  std::vector<std::int64_t> kept(work.begin(), work.end());
  for (std::size_t id = 0; id < kept.size(); ++id)
    if (plan.kind_of(plan.ops[id]) != PostKind::kAttend) kept[id] = 0;
  return kept;
}

// REQUIRES: work.size() == plan.ops.size().
std::vector<std::int64_t> work_by_rank(const Plan& plan, std::span<const std::int64_t> work) {
  SPSCOPE_CHECK(work.size() == plan.ops.size());
  std::vector<std::int64_t> of_rank(at(plan.ranks));
  for (std::size_t id = 0; id < work.size(); ++id)
    if (plan.kind_of(plan.ops[id]) == PostKind::kAttend) of_rank[at(plan.ops[id].rank)] += work[id];
  return of_rank;
}

double mean_of(const std::vector<std::int64_t>& of_rank) {
  return std::accumulate(of_rank.begin(), of_rank.end(), 0.0) / static_cast<double>(of_rank.size());
}

// Sum over steps of the slowest rank of each group; the slowest group. Steps of different attentions are different
// steps.
std::int64_t barrier_work(const Plan& plan, std::span<const std::int64_t> work, std::span<const int> group_of_rank) {
  using Step = std::tuple<int, AttendedAxis, int>;  // layer, axis, ring step
  std::map<Step, std::vector<std::int64_t>> by_rank;
  for (std::size_t id = 0; id < plan.ops.size(); ++id) {
    stop_point();
    const Op& op = plan.ops[id];
    const Post& post = plan.post_of(op);
    if (post.kind != PostKind::kAttend) continue;
    const Accumulator& acc = plan.accumulators[at(post.acc)];
    std::vector<std::int64_t>& row = by_rank[{plan.values[at(acc.q)].layer, acc.axis, post.ring_step}];
    row.resize(at(plan.ranks));
    row[at(op.rank)] += work[id];
  }
  std::vector<std::int64_t> of_group(at(plan.ranks));
  for (const auto& [step, row] : by_rank) {
    std::vector<std::int64_t> slowest(at(plan.ranks));
    for (int rank = 0; rank < plan.ranks; ++rank, stop_point()) {
      std::int64_t& max = slowest[at(group_of_rank[at(rank)])];
      max = std::max(max, row[at(rank)]);
    }
    for (std::size_t g = 0; g < of_group.size(); ++g) of_group[g] += slowest[g];
  }
  return *std::ranges::max_element(of_group);
}

}  // namespace

std::vector<std::int64_t> attended_area(const Plan& plan) {
  std::vector<std::int64_t> area(plan.ops.size());
  for (std::size_t id = 0; id < area.size(); ++id)
    if (plan.kind_of(plan.ops[id]) == PostKind::kAttend) area[id] = attend_area(plan, plan.ops[id]);
  return area;
}

std::vector<int> ring_groups(const Plan& plan) {
  std::vector<int> root(at(plan.ranks));  // union-find; the root of a group is its lowest rank
  std::iota(root.begin(), root.end(), 0);
  const auto find = [&](int rank) {
    while (root[at(rank)] != rank) rank = root[at(rank)] = root[at(root[at(rank)])];
    return rank;
  };
  const std::vector<bool> travels = travelling_values(plan);
  for (const Op& op : plan.ops) {
    stop_point();
    const Post& post = plan.post_of(op);
    if (!moves(post.kind) || !travels[at(post.dst)]) continue;
    for (MessageId m : plan.messages_of(op)) {
      const int a = find(plan.messages[at(m)].src), b = find(plan.messages[at(m)].dst);
      root[at(std::max(a, b))] = std::min(a, b);
    }
  }
  std::vector<int> group(at(plan.ranks));
  int num_groups = 0;
  for (int rank = 0; rank < plan.ranks; ++rank)
    group[at(rank)] = find(rank) == rank ? num_groups++ : group[at(find(rank))];
  return group;
}

double plain_imbalance_ratio(const Plan& plan, std::span<const std::int64_t> work) {
  const std::vector<std::int64_t> of_rank = work_by_rank(plan, work);
  const double mean = mean_of(of_rank);
  return mean == 0 ? 1 : static_cast<double>(*std::ranges::max_element(of_rank)) / mean;
}

ImbalanceRatios imbalance_ratios(const Plan& plan, std::span<const std::int64_t> given_work) {
  const double mean = mean_of(work_by_rank(plan, given_work));
  if (mean == 0) return {};
  const std::vector<std::int64_t> work = work_of_attends(plan, given_work);
  const auto ratio = [&](std::int64_t slowest) { return static_cast<double>(slowest) / mean; };
  const std::vector<int> rings = ring_groups(plan), one_group(at(plan.ranks), 0);
  return {.plain = plain_imbalance_ratio(plan, work),
          .barrier = ratio(barrier_work(plan, work, rings)),
          .barrier_all_ranks = ratio(barrier_work(plan, work, one_group)),
          .coupled = ratio(schedule(plan, work, Network::instant(plan.ranks)).makespan_ns())};
}

}  // namespace spscope
