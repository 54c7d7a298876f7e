// Plans in which keys or queries travel round.
#include "backend/base/ids.h"
#include "tests/support/plan_library.h"

namespace spscope::testing {
namespace {

Placement rows_of(PlanBuilder& b, const std::vector<SetId>& tokens) {
  return b.place([&](int rank) {
    return BoxList{{b.request().all_heads(), b.request().all_outer(), tokens[at(rank)]}};
  });
}

std::vector<SetId> block_runs(const Request& request, int parts) {
  return cut_blocks(request, AttendedAxis::kInner, parts, TokenOrder::kContiguous);
}

// Of the blocks that any of these queries attends to.
SetId needed_keys(const Request& request, int head, SetId queries) {
  const BlockMask& mask = request.executed_mask().mask();
  SetTable& sets = *request.sets;
  std::vector<Span> keys;
  for (std::int32_t q = 0; q < mask.blocks(); ++q) {
    if (sets.size(sets.both(queries, sets.of({mask.block(q)}))) == 0) continue;
    for (std::int32_t k = 0; k < mask.blocks(); ++k)
      if (mask.active(head, q, k)) keys.push_back(mask.block(k));
  }
  return sets.of(std::move(keys));
}

}  // namespace

void plan_token_ring(PlanBuilder& b, const Request& request) {
  const Placement rows = rows_of(b, block_runs(request, request.ranks));
  auto [q, kv] = b.input_qkv(rows);
  const AccId home = b.accumulate(q);
  std::vector<Move> returning;
  for (int step = 0; step < request.ranks; ++step) {
    Move hop;
    if (step + 1 < request.ranks) hop = b.shift(q, b.everyone());
    const AccId acc = step == 0 ? home : b.accumulate(q);
    b.attend(acc, kv, step);
    if (step > 0) returning.push_back(b.shift(b.partial(acc), b.everyone(), -step, 2));
    if (step + 1 < request.ranks) q = b.wait(hop);
  }
  for (const Move& part : returning) b.merge(home, b.wait(part));
  b.output(b.finish(home), rows);
}

void plan_sparse_ring(PlanBuilder& b, const Request& request) {
  const int ranks = request.ranks;
  const std::vector<SetId> tokens = block_runs(request, ranks);
  const Placement rows = rows_of(b, tokens);
  auto [q, kv] = b.input_qkv(rows);
  const AccId acc = b.accumulate(q);
  // Of the tokens that came `step` hops to this rank: those that it or a rank after it still attends to.
  const auto still_needed = [&](int rank, int step) {
    BoxList boxes;
    for (int head = 0; head < request.heads; ++head) {
      std::vector<SetId> needed;
      for (int ahead = 0; ahead < ranks - step; ++ahead)
        needed.push_back(needed_keys(request, head, tokens[at((rank + ahead) % ranks)]));
      const SetId travelling = tokens[at((rank - step + ranks) % ranks)];
      boxes.push_back(
          {b.sets().span(head, head + 1), request.all_outer(), b.sets().both(travelling, b.sets().unite(needed))});
    }
    return boxes;
  };
  for (int step = 0; step < ranks; ++step) {
    Move hop;
    if (step + 1 < ranks) hop = b.exchange(kv, b.place([&](int rank) { return still_needed(rank, step + 1); }));
    b.attend(acc, kv, step);
    if (step + 1 < ranks) kv = b.wait(hop);
  }
  b.output(b.finish(acc), rows);
}

void plan_two_way_ring(PlanBuilder& b, const Request& request) {
  const std::vector<SetId> tokens = block_runs(request, request.ranks);
  const Placement rows = rows_of(b, tokens);
  const auto [q, kv] = b.input_qkv(rows);
  const AccId acc = b.accumulate(q);
  struct Way {
    ValueId kv;
    int by, lane;
  };
  std::vector<Way> ways;
  for (const SetId half : b.sets().even(request.all_heads(), 2)) {
    const int by = ways.empty() ? 1 : -1;
    const Placement part = b.place([&](int rank) { return BoxList{{half, request.all_outer(), tokens[at(rank)]}}; });
    ways.push_back({b.narrow(kv, part), by, ways.empty() ? 1 : 2});
  }
  for (int step = 0; step < request.ranks; ++step) {
    std::vector<Move> hops;
    if (step + 1 < request.ranks)
      for (const Way& way : ways) hops.push_back(b.shift(way.kv, b.everyone(), way.by, way.lane));
    for (const Way& way : ways) b.attend(acc, way.kv, step);
    for (std::size_t w = 0; w < hops.size(); ++w) ways[w].kv = b.wait(hops[w]);
  }
  b.output(b.finish(acc), rows);
}

}  // namespace spscope::testing
