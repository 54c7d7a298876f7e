// Requests, plans and durations that the schedule's tests share.
#pragma once

#include <gtest/gtest.h>

#include <string_view>
#include <utility>
#include <vector>

#include "backend/plan/plan_builder.h"
#include "backend/schedule/network.h"
#include "backend/strategies/strategy.h"
#include "tests/support/plan_library.h"
#include "tests/support/random_mask.h"

namespace spscope::testing {

// A plan of the library with its request.
class OfEveryPlan : public ::testing::TestWithParam<PlanCase> {
 protected:
  Request request_ = layer_request(GetParam().shape, GetParam().kind);
  Plan plan_ = build(GetParam().plan, request_);
};

// Bits from active(head, q block, k block).
template <typename Active>
BlockMask mask_of(int heads, int blocks, int block_tokens, Active&& active) {
  return mask_where(heads, BlockMask::uniform_starts(blocks * block_tokens, block_tokens), active);
}

inline BlockMask dense_mask(int heads, int blocks, int block_tokens) {
  return mask_of(heads, blocks, block_tokens, [](int, int, int) { return true; });
}

inline Plan plan_of(const Request& request, std::string_view strategy,
                    std::vector<std::pair<std::string_view, ParameterValue>> settings = {}) {
  return build(strategy_plan(strategy, std::move(settings)), request);
}

inline Plan usp_plan(const Request& request, int ulysses) {
  return plan_of(request, "usp", {{"ulysses", std::int64_t{ulysses}}, {"ring", std::int64_t{request.ranks / ulysses}}});
}

// Even runs of tokens, with all columns of the axis.
inline Placement token_runs(PlanBuilder& b, Axis axis = Axis::kHeads) {
  const Request& request = b.request();
  const std::vector<SetId> tokens = b.sets().even(request.all_inner(), request.ranks);
  return b.place([&](int rank) {
    return BoxList{{request.all_columns(axis), request.all_outer(), tokens[static_cast<std::size_t>(rank)]}};
  });
}

// Even runs of heads, with all tokens.
inline Placement head_runs(PlanBuilder& b) {
  const Request& request = b.request();
  const std::vector<SetId> heads = b.sets().even(request.all_heads(), request.ranks);
  return b.place([&](int rank) {
    return BoxList{{heads[static_cast<std::size_t>(rank)], request.all_outer(), request.all_inner()}};
  });
}

// Everything at one rank.
inline Placement whole_at(PlanBuilder& b, int wanted) {
  return b.place([&](int rank) { return rank == wanted ? BoxList{b.request().whole()} : BoxList{}; });
}

// Duration by OpId: of(op, post) for attends, 0 for the others.
template <typename Duration>
std::vector<std::int64_t> attend_durations(const Plan& plan, Duration&& of) {
  std::vector<std::int64_t> durations_ns;
  for (const Op& op : plan.ops)
    durations_ns.push_back(plan.kind_of(op) == PostKind::kAttend ? of(op, plan.post_of(op)) : 0);
  return durations_ns;
}

// A network with every kind of contention, from a seed.
inline Network random_network(int ranks, Rng& rng) {
  Network network{.ranks = ranks,
                  .ranks_per_node = static_cast<int>(1 + rng.below(ranks)),
                  .port_bytes_per_ns = 0.5 + 100 * rng.uniform(),
                  .nic_bytes_per_ns = 0.5 + 100 * rng.uniform(),
                  .intra_latency_ns = rng.below(50),
                  .inter_latency_ns = rng.below(500),
                  .compute_slowdown = 1 + rng.uniform()};
  for (LinkCurve& curve : network.curves)
    if (rng.below(2) == 0)
      curve = {0.5 + 100 * rng.uniform(), 300 * rng.uniform(), 200 * rng.uniform(), 400 * rng.uniform(), 0, 0};
  if (rng.below(2) == 0) network.rank_nic_bytes_per_ns = 0.5 + 20 * rng.uniform();
  network.ranks_in_use = network.ranks_per_node;
  if (rng.below(2) == 0) {
    LinkCurve& wide = network.curves[static_cast<std::size_t>(Collective::kAllToAll)];
    wide.of_4_bytes_per_ns = 0.5 + 20 * rng.uniform();
    wide.of_8_bytes_per_ns = 0.5 + 5 * rng.uniform();
  }
  if (rng.below(2) == 0) network.pack_ns_per_byte = 0.05 * rng.uniform();
  return network;
}

// Durations of compute in [0, 600), a third of them 0.
inline std::vector<std::int64_t> random_durations(const Plan& plan, Rng& rng) {
  std::vector<std::int64_t> durations_ns;
  for (std::size_t id = 0; id < plan.ops.size(); ++id) durations_ns.push_back(rng.below(200) * rng.below(3));
  return durations_ns;
}

}  // namespace spscope::testing
