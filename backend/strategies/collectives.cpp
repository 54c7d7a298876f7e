#include "backend/strategies/collectives.h"

#include <algorithm>

namespace spscope {
namespace {

constexpr const char* kAlgorithms[] = {"ring", "flat", "hierarchical", "tree"};

// Ranks of a group by node, in group order.
Groups by_node(const Request& request, const std::vector<int>& group) {
  const int per_node = request.ranks_per_node > 0 ? request.ranks_per_node : request.ranks;
  Groups nodes;
  int last = -1;
  for (const int rank : group) {
    if (rank / per_node != last) nodes.emplace_back();
    last = rank / per_node;
    nodes.back().push_back(rank);
  }
  return nodes;
}

// Of N ranks: rings of the smallest prime factor f of N between ranks that are N / f apart, then the same in each of
// the f parts. Pairs, where N is a power of two.
std::vector<Groups> tree_of(const std::vector<int>& group) {
  std::vector<Groups> levels;
  for (std::size_t part = group.size(); part > 1;) {  // ranks that share a tree from here on
    std::size_t factor = 2;
    while (part % factor != 0) ++factor;
    const std::size_t apart = part / factor;
    Groups rings;
    for (std::size_t first = 0; first < group.size(); ++first) {
      if (first % part >= apart) continue;
      rings.emplace_back();
      for (std::size_t i = 0; i < factor; ++i) rings.back().push_back(group[first + i * apart]);
    }
    levels.push_back(std::move(rings));
    part = apart;
  }
  return levels;
}

// Rings of a collective, in the order in which a gather takes them; a scatter takes them in reverse.
std::vector<Groups> rings_of(const Request& request, const std::vector<int>& group, CollectiveAlgorithm algorithm) {
  if (algorithm == CollectiveAlgorithm::kTree && group.size() > 1) return tree_of(group);
  const Groups nodes = by_node(request, group);
  const bool even = std::ranges::all_of(nodes, [&](const auto& node) { return node.size() == nodes.front().size(); });
  if (algorithm != CollectiveAlgorithm::kHierarchical || !even || nodes.size() == 1 || nodes.front().size() == 1)
    return {{group}};
  Groups across(nodes.front().size());
  for (const std::vector<int>& node : nodes)
    for (std::size_t place = 0; place < node.size(); ++place) across[place].push_back(node[place]);
  return {across, nodes};
}

// The rings of several groups, level by level. Rings round whole groups where the algorithm would give them levels of
// different sizes.
std::vector<Groups> rings_of(const Request& request, const Groups& groups, CollectiveAlgorithm algorithm) {
  std::vector<Groups> joined = rings_of(request, groups.front(), algorithm);
  for (std::size_t g = 1; g < groups.size(); ++g) {
    const std::vector<Groups> levels = rings_of(request, groups[g], algorithm);
    const bool alike = std::ranges::equal(
        levels, joined, [](const Groups& a, const Groups& b) { return a.front().size() == b.front().size(); });
    if (!alike) return {groups};
    for (std::size_t level = 0; level < levels.size(); ++level)
      joined[level].insert(joined[level].end(), levels[level].begin(), levels[level].end());
  }
  return joined;
}

int num_steps(const Request& request, const Groups& groups, CollectiveAlgorithm algorithm) {
  if (algorithm == CollectiveAlgorithm::kFlat) return 1;
  int steps = 0;
  for (const Groups& rings : rings_of(request, groups, algorithm)) steps += static_cast<int>(rings.front().size()) - 1;
  return std::max(1, steps);
}

// The boxes of `whole`, at ranks of the groups.
Placement at_groups(PlanBuilder& b, const Placement& whole, const Groups& groups) {
  std::vector<bool> member(static_cast<std::size_t>(b.request().ranks), false);
  for (const std::vector<int>& group : groups)
    for (const int rank : group) member[static_cast<std::size_t>(rank)] = true;
  return b.place([&](int rank) {
    return member[static_cast<std::size_t>(rank)] ? BoxList(whole.at(rank).begin(), whole.at(rank).end()) : BoxList();
  });
}

// What a rank has after a hop moves on, until every rank of a ring has had everything.
ValueId gather_rings(PlanBuilder& b, ValueId rows, const Groups& rings, CollectivePart part) {
  std::vector<ValueId> held = {rows};
  for (std::size_t hop = 1; hop < rings.front().size(); ++hop) {
    const Placement next = b.placement_of(held.back()).rotate(rings);
    held.push_back(b.wait(b.exchange(held.back(), next, rings, 1, part)));
  }
  return held.size() == 1 ? rows : b.view(held);
}

ValueId gather_in_steps(PlanBuilder& b, ValueId rows, const Placement& whole, const Groups& groups,
                        CollectiveAlgorithm algorithm, CollectivePart part) {
  if (groups.front().size() == 1) return b.reshard(rows, whole, groups);
  if (algorithm == CollectiveAlgorithm::kFlat)
    return b.wait(b.exchange(rows, at_groups(b, whole, groups), groups, 1, part));
  for (const Groups& rings : rings_of(b.request(), groups, algorithm)) rows = gather_rings(b, rows, rings, part);
  return b.narrow(rows, at_groups(b, whole, groups));
}

// One box for each rank of rings; of others nothing.
using BoxOfRank = std::vector<BoxList>;

// Rings of reduce-scatters at once. Member j ends with parts[j] of its ring; the part of member c starts with the share
// of member c + 1 and gets one more share at every hop.
ValueId scatter_ring(PlanBuilder& b, ValueId sum, const BoxOfRank& parts, const Groups& rings, CollectivePart part,
                     bool last) {
  const int n = static_cast<int>(rings.front().size());
  const auto part_of = [&](const std::vector<int>& ring, int member) -> const BoxList& {
    return parts[static_cast<std::size_t>(ring[static_cast<std::size_t>((member % n + n) % n)])];
  };
  // visit(ring, member) -> what each rank holds
  const auto placed = [&](auto&& boxes_of) {
    BoxOfRank boxes(static_cast<std::size_t>(b.request().ranks));
    for (const std::vector<int>& ring : rings)
      for (int j = 0; j < n; ++j)
        boxes[static_cast<std::size_t>(ring[static_cast<std::size_t>(j)])] = boxes_of(ring, j);
    return b.place([&](int rank) { return boxes[static_cast<std::size_t>(rank)]; });
  };
  ValueId partial = b.narrow(sum, placed([&](const auto& ring, int j) { return part_of(ring, j - 1); }));
  for (int hop = 1; hop < n; ++hop) {
    const Placement next = placed([&](const auto& ring, int j) { return part_of(ring, j - 1 - hop); });
    partial = b.wait(b.reduce_onto(sum, partial, next, rings, 1, part, last && hop + 1 == n));
  }
  return partial;
}

ValueId scatter_in_steps(PlanBuilder& b, ValueId sum, const Placement& parts, const std::vector<int>& group,
                         CollectiveAlgorithm algorithm, CollectivePart part) {
  if (group.size() == 1 || algorithm == CollectiveAlgorithm::kFlat)
    return b.wait(b.reduce(sum, at_groups(b, parts, {group}), {group}, 1, part));
  std::vector<Groups> levels = rings_of(b.request(), group, algorithm);
  std::ranges::reverse(levels);
  for (std::size_t level = 0; level < levels.size(); ++level) {
    // What a rank ends with on this level: its own part, and those of all ranks that it adds up for on later levels.
    BoxOfRank boxes(static_cast<std::size_t>(b.request().ranks));
    for (const int rank : group)
      boxes[static_cast<std::size_t>(rank)].assign(parts.at(rank).begin(), parts.at(rank).end());
    for (std::size_t later = level + 1; later < levels.size(); ++later) {
      const BoxOfRank own = boxes;
      for (const std::vector<int>& ring : levels[later])
        for (const int rank : ring) {
          BoxList& all = boxes[static_cast<std::size_t>(rank)];
          all.clear();
          for (const int other : ring)
            all.insert(all.end(), own[static_cast<std::size_t>(other)].begin(),
                       own[static_cast<std::size_t>(other)].end());
        }
    }
    sum = scatter_ring(b, sum, boxes, levels[level], part, level + 1 == levels.size());
  }
  return sum;
}

}  // namespace

Parameter collective_parameter() {
  return Parameter::choice("collective", {std::begin(kAlgorithms), std::end(kAlgorithms)},
                           "how gathers and sums of all ranks travel: round a ring, each part straight to every rank, "
                           "in rings between nodes "
                           "and inside them, or between ranks ever closer");
}

CollectiveAlgorithm collective_algorithm(const Parameters& parameters) {
  const auto found = std::ranges::find(kAlgorithms, std::string_view(parameters.text("collective")),
                                       [](const char* name) { return std::string_view(name); });
  return static_cast<CollectiveAlgorithm>(found - std::begin(kAlgorithms));
}

std::vector<Parameters> collective_candidates(const Request& request, const std::vector<Parameter>& rows) {
  std::vector<Parameters> settings = {Parameters(rows)};
  if (request.ranks_per_node == 0 || request.ranks <= request.ranks_per_node) return settings;
  settings.emplace_back(rows);
  settings.back().set("collective", std::string(kAlgorithms[2]));
  return settings;
}

ValueId all_gather(PlanBuilder& b, ValueId rows, const Placement& whole, const Groups& groups,
                   CollectiveAlgorithm algorithm) {
  return gather_in_steps(b, rows, whole, groups, algorithm,
                         {Collective::kAllGather, num_steps(b.request(), groups, algorithm)});
}

ValueId reduce_scatter(PlanBuilder& b, ValueId sum, const Placement& parts, const std::vector<int>& group,
                       CollectiveAlgorithm algorithm) {
  return scatter_in_steps(b, sum, parts, group, algorithm,
                          {Collective::kReduceScatter, num_steps(b.request(), Groups{group}, algorithm)});
}

ValueId all_reduce(PlanBuilder& b, ValueId sum, const Placement& parts, const Placement& whole,
                   const std::vector<int>& group, CollectiveAlgorithm algorithm) {
  const CollectivePart part{Collective::kAllReduce, 2 * num_steps(b.request(), Groups{group}, algorithm)};
  return gather_in_steps(b, scatter_in_steps(b, sum, parts, group, algorithm, part), whole, {group}, algorithm, part);
}

}  // namespace spscope
