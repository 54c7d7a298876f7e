// Ulysses in steps.
#include "backend/base/ids.h"
#include "tests/support/plan_library.h"

namespace spscope::testing {

void plan_pipelined_ulysses(PlanBuilder& b, const Request& request) {
  constexpr int kPipelineChunks = 2;
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

}  // namespace spscope::testing
