// Plans that divide heads: pipelined Ulysses, balanced USP, and keys fetched by head.
#include <algorithm>

#include "backend/base/ids.h"
#include "tests/support/plan_library.h"

namespace spscope::testing {
namespace {

constexpr int kPipelineChunks = 2;

std::vector<std::int64_t> head_areas(const BlockMask& mask) {
  std::vector<std::int64_t> areas;
  for (int head = 0; head < mask.heads(); ++head) areas.push_back(mask.head_area(head));
  return areas;
}

// Active tiles by row of queries, or by column of keys.
std::vector<std::int64_t> block_weights(const BlockMask& mask, bool rows) {
  std::vector<std::int64_t> weights(at(mask.coarse_blocks()), 0);
  for (int head = 0; head < mask.heads(); ++head)
    for (std::int32_t q = 0; q < mask.coarse_blocks(); ++q)
      for (std::int32_t k = 0; k < mask.coarse_blocks(); ++k)
        if (mask.active(head, q, k)) ++weights[at(rows ? q : k)];
  return weights;
}

std::vector<SetId> sets_of_heads(PlanBuilder& b, const std::vector<std::vector<std::int32_t>>& groups) {
  std::vector<SetId> sets;
  for (const auto& heads : groups) sets.push_back(b.sets().indices(heads));
  return sets;
}

std::vector<SetId> sets_of_blocks(const Request& request, const std::vector<std::vector<std::int32_t>>& groups) {
  const auto blocks = request.executed_mask().blocks();
  std::vector<SetId> sets;
  for (const auto& group : groups) {
    std::vector<SetId> mine;
    for (std::int32_t block : group) mine.push_back(blocks[at(block)]);
    sets.push_back(request.sets->unite(mine));
  }
  return sets;
}

// What mesh plans share: heads by Ulysses index, tokens by ring index, and rows cut to the token inside a chunk.
struct MeshPlacements {
  Placement rows, columns;
};

MeshPlacements mesh_placements(PlanBuilder& b, const Mesh& mesh, const std::vector<SetId>& heads,
                               const std::vector<SetId>& chunks) {
  const Request& request = b.request();
  std::vector<std::vector<SetId>> parts;
  for (SetId chunk : chunks) parts.push_back(b.sets().even(chunk, mesh.ulysses));
  return {b.place([&](int k) {
            const SetId tokens = parts[at(mesh.ring_index(k))][at(mesh.ulysses_index(k))];
            return BoxList{{request.all_heads(), request.all_outer(), tokens}};
          }),
          b.place([&](int k) {
            return BoxList{{heads[at(mesh.ulysses_index(k))], request.all_outer(), chunks[at(mesh.ring_index(k))]}};
          })};
}

}  // namespace

std::vector<std::vector<std::int32_t>> assign_longest_first(const std::vector<std::int64_t>& weights, int groups,
                                                            int cap) {
  std::vector<std::int32_t> order;
  for (std::int32_t j = 0; at(j) < weights.size(); ++j) order.push_back(j);
  std::ranges::stable_sort(order, [&](std::int32_t a, std::int32_t c) { return weights[at(a)] > weights[at(c)]; });
  std::vector<std::vector<std::int32_t>> members(at(groups));
  std::vector<std::int64_t> load(at(groups), 0);
  for (std::int32_t item : order) {
    int best = kNone;
    for (int g = 0; g < groups; ++g)
      if (static_cast<int>(members[at(g)].size()) < cap && (best == kNone || load[at(g)] < load[at(best)])) best = g;
    members[at(best)].push_back(item);
    load[at(best)] += weights[at(item)];
  }
  for (auto& group : members) std::ranges::sort(group);
  return members;
}

void plan_pipelined_ulysses(PlanBuilder& b, const Request& request) {
  const std::vector<SetId> tokens = b.sets().even(request.all_inner(), request.ranks);
  const std::vector<SetId> heads = b.sets().even(request.all_heads(), request.ranks);
  std::vector<std::vector<SetId>> chunks;  // of the heads of each rank
  for (SetId mine : heads) chunks.push_back(b.sets().even(mine, kPipelineChunks));
  const auto box = [&](SetId columns, SetId inner) { return BoxList{{columns, request.all_outer(), inner}}; };
  const Placement rows = b.place([&](int rank) { return box(request.all_heads(), tokens[at(rank)]); });
  const auto [q, kv] = b.input_qkv(rows);
  struct Moves {
    Move q, kv;
  };
  const auto fetch = [&, q = q, kv = kv](int chunk) {
    const Placement columns = b.place([&](int rank) { return box(chunks[at(rank)][at(chunk)], request.all_inner()); });
    return Moves{b.exchange(q, columns), b.exchange(kv, columns)};
  };
  std::vector<ValueId> done;
  Moves next = fetch(0);
  for (int chunk = 0; chunk < kPipelineChunks; ++chunk) {
    const ValueId now_q = b.wait(next.q), now_kv = b.wait(next.kv);
    if (chunk + 1 < kPipelineChunks) next = fetch(chunk + 1);
    std::vector<SetId> all;
    for (const auto& of_rank : chunks) all.push_back(of_rank[at(chunk)]);
    const Placement back = b.place([&](int rank) { return box(b.sets().unite(all), tokens[at(rank)]); });
    done.push_back(b.wait(b.exchange(b.attend_all(now_q, now_kv), back, {}, 2)));
  }
  b.output(b.view(done), rows);
}

void plan_balanced_usp(PlanBuilder& b, const Request& request, int ulysses, bool queries_only) {
  const Mesh mesh{ulysses, request.ranks / ulysses};
  const Groups all_to_all = mesh.ulysses_groups(), rings = mesh.ring_groups();
  const BlockMask& mask = request.executed_mask().mask();
  const int head_cap = (request.heads + ulysses - 1) / ulysses;
  const int block_cap = (mask.coarse_blocks() + mesh.ring - 1) / mesh.ring;
  const std::vector<SetId> heads = sets_of_heads(b, assign_longest_first(head_areas(mask), ulysses, head_cap));
  const auto chunks = cut_blocks(request, AttendedAxis::kInner, mesh.ring, TokenOrder::kContiguous);
  const auto [rows, columns] = mesh_placements(b, mesh, heads, chunks);
  auto [q, kv] = b.input_qkv(rows);
  q = b.reshard(q, columns, all_to_all);
  kv = b.reshard(kv, columns, all_to_all);
  const auto balanced = [&](bool by_row) {
    const auto blocks =
        sets_of_blocks(request, assign_longest_first(block_weights(mask, by_row), mesh.ring, block_cap));
    return b.place([&](int k) {
      return BoxList{{heads[at(mesh.ulysses_index(k))], request.all_outer(), blocks[at(mesh.ring_index(k))]}};
    });
  };
  q = b.reshard(q, balanced(true), rings);
  if (!queries_only) kv = b.reshard(kv, balanced(false), rings);
  const ValueId o = ring_attention(b, q, kv, rings, AttendedAxis::kInner, 1);
  b.output(b.reshard(b.reshard(o, columns, rings), rows, all_to_all), rows);
}

void plan_dsv(PlanBuilder& b, const Request& request, int ulysses) {
  const Mesh mesh{ulysses, request.ranks / ulysses};
  const Groups all_to_all = mesh.ulysses_groups(), rings = mesh.ring_groups();
  MaskCounter& mask = request.executed_mask();
  const auto members = assign_longest_first(head_areas(mask.mask()), ulysses, request.heads);
  const std::vector<SetId> heads = sets_of_heads(b, members);
  const auto chunks = cut_blocks(request, AttendedAxis::kInner, mesh.ring, TokenOrder::kContiguous);
  const auto [rows, columns] = mesh_placements(b, mesh, heads, chunks);
  const Placement remote = b.place([&](int k) {
    const SetId chunk = chunks[at(mesh.ring_index(k))];
    BoxList boxes;
    for (std::int32_t head : members[at(mesh.ulysses_index(k))]) {
      const SetId one = b.sets().span(head, head + 1);
      boxes.push_back({one, request.all_outer(), b.sets().minus(mask.needed_keys(one, chunk), chunk)});
    }
    return boxes;
  });
  auto [q, kv] = b.input_qkv(rows);
  q = b.reshard(q, columns, all_to_all);
  kv = b.reshard(kv, columns, all_to_all);
  const Move fetched = b.exchange(kv, remote, rings);
  const AccId acc = b.accumulate(q);
  b.attend(acc, kv);
  b.attend(acc, b.wait(fetched), 1);
  b.output(b.reshard(b.finish(acc), rows, all_to_all), rows);
}

}  // namespace spscope::testing
