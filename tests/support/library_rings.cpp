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

std::vector<SetId> block_turns(const Request& request, int parts) {
  return cut_blocks(request, AttendedAxis::kInner, parts, TokenOrder::kCyclic);
}

}  // namespace

// Text rows are computed at every rank, text keys attended once a rank; only video keys travel.
void plan_ring_text_replicated(PlanBuilder& b, const Request& request) {
  const SetId words = request.words();
  std::vector<SetId> tokens = block_turns(request, request.ranks);
  for (SetId& mine : tokens) mine = b.sets().minus(mine, words);
  const Placement video = rows_of(b, tokens);
  const Placement text = rows_of(b, std::vector<SetId>(at(request.ranks), words));
  const Placement both = b.place([&](int rank) { return BoxList{video.at(rank).front(), text.at(rank).front()}; });
  const auto [q, kv] = b.input_qkv(both);
  const AccId acc = b.accumulate(q);
  b.attend(acc, b.narrow(kv, text));
  ValueId travelling = b.narrow(kv, video);
  for (int step = 0; step < request.ranks; ++step) {
    Move hop;
    if (step + 1 < request.ranks) hop = b.shift(travelling, b.everyone());
    b.attend(acc, travelling, step);
    if (step + 1 < request.ranks) travelling = b.wait(hop);
  }
  b.output(b.finish(acc), both);
}

void plan_striped_ring(PlanBuilder& b, const Request& request) {
  const int slices = request.ranks;
  const auto stripes = request.executed_mask().refined(slices).blocks();
  std::vector<SetId> tokens;
  for (int rank = 0; rank < request.ranks; ++rank) {
    std::vector<SetId> mine;
    for (std::size_t s = at(rank); s < stripes.size(); s += at(request.ranks)) mine.push_back(stripes[s]);
    tokens.push_back(b.sets().unite(mine));
  }
  const Placement rows = rows_of(b, tokens);
  const auto [q, kv] = b.input_qkv(rows);
  b.output(ring_attention(b, q, kv, b.everyone(), AttendedAxis::kInner, slices), rows);
}

void plan_allgather_kv(PlanBuilder& b, const Request& request) {
  const Placement rows = rows_of(b, block_runs(request, request.ranks));
  const auto [q, kv] = b.input_qkv(rows);
  const ValueId all = b.reshard(kv, b.place([&](int) { return BoxList{request.whole()}; }));
  b.output(b.attend_all(q, all), rows);
}

// Rank = node x local ranks + local rank. The hop between nodes is posted at the start of a round, used at its end.
void plan_double_ring(PlanBuilder& b, const Request& request, int nodes) {
  const int local = request.ranks / nodes;
  const Mesh mesh{local, nodes};
  const Groups inside = mesh.ulysses_groups(), across = mesh.ring_groups();
  const Placement rows = rows_of(b, block_turns(request, request.ranks));
  auto [q, head] = b.input_qkv(rows);
  const AccId acc = b.accumulate(q);
  for (int round = 0; round < nodes; ++round) {
    Move far;
    if (round + 1 < nodes) far = b.shift(head, across, 1, 2);
    ValueId kv = head;
    for (int step = 0; step < local; ++step) {
      Move near;
      if (step + 1 < local) near = b.shift(kv, inside);
      b.attend(acc, kv, round * local + step);
      if (step + 1 < local) kv = b.wait(near);
    }
    if (round + 1 < nodes) head = b.wait(far);
  }
  b.output(b.finish(acc), rows);
}

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
      const SetId one = b.sets().span(head, head + 1);
      std::vector<SetId> needed;
      for (int ahead = 0; ahead < ranks - step; ++ahead)
        needed.push_back(request.executed_mask().needed_keys(one, tokens[at((rank + ahead) % ranks)]));
      const SetId travelling = tokens[at((rank - step + ranks) % ranks)];
      boxes.push_back({one, request.all_outer(), b.sets().both(travelling, b.sets().unite(needed))});
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
