// Requests, plans and durations that the schedule's tests share.
#pragma once

#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/base/rng.h"
#include "backend/plan/plan_builder.h"
#include "backend/strategies/strategy.h"

namespace spscope::testing {

inline BlockMask dense_mask(int heads, int blocks, int block_tokens) {
  BlockMask mask(heads, BlockMask::uniform_starts(blocks * block_tokens, block_tokens));
  for (int h = 0; h < heads; ++h)
    for (int q = 0; q < blocks; ++q)
      for (int k = 0; k < blocks; ++k) mask.set(h, q, k);
  return mask;
}

// Bits from active(head, q block, k block).
template <typename Active>
BlockMask mask_of(int heads, int blocks, int block_tokens, Active&& active) {
  BlockMask mask(heads, BlockMask::uniform_starts(blocks * block_tokens, block_tokens));
  for (int h = 0; h < heads; ++h)
    for (int q = 0; q < blocks; ++q)
      for (int k = 0; k < blocks; ++k)
        if (active(h, q, k)) mask.set(h, q, k);
  return mask;
}

inline BlockMask random_mask(int heads, int blocks, int block_tokens, double density, std::uint64_t seed) {
  Rng rng(seed);
  return mask_of(heads, blocks, block_tokens, [&](int, int, int) { return rng.uniform() < density; });
}

using Setting = std::pair<std::string_view, ParameterValue>;

inline Plan plan_of(const Request& request, std::string_view strategy, std::initializer_list<Setting> settings = {}) {
  const Strategy& found = *find_strategy(strategy);
  Parameters parameters(found.parameters());
  for (const Setting& setting : settings) parameters.set(setting.first, setting.second);
  return make_plan(found, request, parameters);
}

inline Plan usp_plan(const Request& request, int ulysses) {
  return plan_of(request, "usp", {{"ulysses", std::int64_t{ulysses}}, {"ring", std::int64_t{request.ranks / ulysses}}});
}

// Duration by OpId: of(op, post) for attends, 0 for the others.
template <typename Duration>
std::vector<std::int64_t> attend_durations(const Plan& plan, Duration&& of) {
  std::vector<std::int64_t> durations_ns;
  for (const Op& op : plan.ops)
    durations_ns.push_back(plan.kind_of(op) == PostKind::kAttend ? of(op, plan.post_of(op)) : 0);
  return durations_ns;
}

// Queries travel, unfinished rows return (TokenRing, arXiv 2412.20501).
inline Plan token_ring_plan(const Request& request) {
  PlanBuilder b(request);
  const auto blocks = request.executed_mask().blocks();
  const Placement rows = b.place([&](int r) {
    const std::size_t n = blocks.size(), p = static_cast<std::size_t>(request.ranks), j = static_cast<std::size_t>(r);
    return BoxList{{request.all_heads(), request.all_outer(),
                    request.sets->unite(blocks.subspan(n * j / p, n * (j + 1) / p - n * j / p))}};
  });
  const auto [q0, kv] = b.input_qkv(rows);
  const AccId home = b.accumulate(q0);
  std::vector<Move> back;
  ValueId q = q0;
  for (int step = 0; step < request.ranks; ++step) {
    Move hop;
    const bool last = step + 1 == request.ranks;
    if (!last) hop = b.shift(q, b.everyone());
    const AccId acc = step == 0 ? home : b.accumulate(q);
    b.attend(acc, kv, step);
    if (step > 0) back.push_back(b.shift(b.partial(acc), b.everyone(), request.ranks - step, 2));
    if (!last) q = b.wait(hop);
  }
  for (Move part : back) b.merge(home, b.wait(part));
  b.output(b.finish(home), rows);
  return b.take();
}

// Rings inside nodes and a ring of nodes at once (BurstAttention's double ring): the far hop is posted at the start of
// a round and used at its end.
inline Plan double_ring_plan(const Request& request, int nodes) {
  PlanBuilder b(request);
  const int local = request.ranks / nodes;
  Groups near(static_cast<std::size_t>(nodes)), far(static_cast<std::size_t>(local));
  for (int r = 0; r < request.ranks; ++r) {
    near[static_cast<std::size_t>(r / local)].push_back(r);
    far[static_cast<std::size_t>(r % local)].push_back(r);
  }
  const auto blocks = request.executed_mask().blocks();
  const Placement rows = b.place([&](int r) {
    std::vector<SetId> mine;
    for (std::size_t j = static_cast<std::size_t>(r); j < blocks.size(); j += static_cast<std::size_t>(request.ranks))
      mine.push_back(blocks[j]);
    return BoxList{{request.all_heads(), request.all_outer(), request.sets->unite(mine)}};
  });
  auto [q, head] = b.input_qkv(rows);
  const AccId acc = b.accumulate(q);
  for (int n = 0; n < nodes; ++n) {
    Move far_hop;
    if (n + 1 < nodes) far_hop = b.shift(head, far, 1, 2);
    ValueId kv = head;
    for (int l = 0; l < local; ++l) {
      Move near_hop;
      if (l + 1 < local) near_hop = b.shift(kv, near);
      b.attend(acc, kv, n * local + l);
      if (l + 1 < local) kv = b.wait(near_hop);
    }
    if (n + 1 < nodes) head = b.wait(far_hop);
  }
  b.output(b.finish(acc), rows);
  return b.take();
}

}  // namespace spscope::testing
