#include "backend/strategies/megatron.h"

#include <fmt/format.h>

namespace spscope {

void check_cut(const Request& request, std::string_view strategy, int columns, std::string_view what,
               std::vector<Problem>& problems) {
  if (request.ranks <= columns) return;
  problems.push_back({ErrorCode::kStrategyIllegal, fmt::format("strategy.{}", strategy),
                      fmt::format("{} ranks cut weights over {} {}", request.ranks, columns, what),
                      fmt::format("use at most {} ranks, or a strategy that cuts tokens (ring, usp)", columns)});
}

std::vector<Problem> check_megatron(const Request& request, std::string_view strategy) {
  std::vector<Problem> problems;
  check_layer_scope(request, strategy, "it cuts the weights around attention", problems);
  if (request.block != LayerBlock::kAttention) check_cut(request, strategy, request.ffn, "ffn channels", problems);
  return problems;
}

namespace {

// Sums over the group: reduced to even parts, then whole at each member.
ValueId total_in(PlanBuilder& b, ValueId sum, const std::vector<int>& group, CollectiveAlgorithm algorithm) {
  const Request& request = b.request();
  const std::vector<SetId> tokens = b.sets().even(request.all_inner(), static_cast<int>(group.size()));
  std::vector<SetId> part(static_cast<std::size_t>(request.ranks), kEmptySet), all = part;
  for (std::size_t j = 0; j < group.size(); ++j) {
    part[static_cast<std::size_t>(group[j])] = tokens[j];
    all[static_cast<std::size_t>(group[j])] = request.all_inner();
  }
  const auto at = [&](const std::vector<SetId>& inner) {
    return b.place([&](int rank) {
      return BoxList{{request.all_columns(Axis::kStat), request.all_outer(), inner[static_cast<std::size_t>(rank)]}};
    });
  };
  return all_reduce(b, sum, at(part), at(all), group, algorithm);
}

}  // namespace

void plan_megatron(PlanBuilder& b, const Request& request, bool sequence_parallel, CollectiveAlgorithm algorithm) {
  const std::vector<SetId> tokens = b.sets().even(request.all_inner(), request.ranks);
  const auto cut_tokens = [&](Axis axis) {
    return b.place([&](int rank) {
      return BoxList{{request.all_columns(axis), request.all_outer(), tokens[static_cast<std::size_t>(rank)]}};
    });
  };
  const auto whole = [&](Axis axis) { return b.place([&](int) { return BoxList{request.whole(axis)}; }); };
  WeightCut cut;
  cut.heads = b.sets().even(request.all_heads(), request.ranks);
  cut.ffn = b.sets().even(request.all_columns(Axis::kFfn), request.ranks);
  // Norms are of heads, and only ranks that compute some take part.
  std::vector<int> with_heads;
  for (int rank = 0; rank < request.ranks; ++rank)
    if (cut.heads[static_cast<std::size_t>(rank)] != kEmptySet) with_heads.push_back(rank);
  cut.total_groups = {with_heads};
  cut.total = [&](PlanBuilder& builder, ValueId sum) { return total_in(builder, sum, with_heads, algorithm); };
  const std::vector<int>& everyone = b.everyone().front();
  cut.join = [&](PlanBuilder& builder, ValueId sum) {
    const Placement rows = cut_tokens(Axis::kHidden);
    return sequence_parallel ? reduce_scatter(builder, sum, rows, everyone, algorithm)
                             : all_reduce(builder, sum, rows, whole(Axis::kHidden), everyone, algorithm);
  };
  if (sequence_parallel)
    cut.gather = [&](PlanBuilder& builder, ValueId rows) {
      return all_gather(builder, rows, whole(Axis::kHidden), {everyone}, algorithm);
    };
  const LayerEntry entry = enter_layer(b, sequence_parallel ? cut_tokens(Axis::kHidden) : whole(Axis::kHidden), cut);
  leave_layer(b, entry, b.attend_all(entry.q, entry.kv, spread_axis(request)), cut);
}

}  // namespace spscope
