// Small plans of attention, made without the strategies so that the fuzz targets build without them.
#pragma once

#include "backend/plan/plan_builder.h"
#include "tests/unit/store/sample_store.h"

namespace spscope::fuzz {

// A share of the tokens for each rank, cut at block borders.
inline Placement even_rows(PlanBuilder& builder, const Request& request, const BlockMask& mask) {
  const auto& starts = mask.block_starts();
  return builder.place([&](int rank) {
    const auto border = [&](int r) { return starts[static_cast<std::size_t>(mask.blocks() * r / request.ranks)]; };
    return BoxList{{request.all_heads(), request.all_outer(), builder.sets().span(border(rank), border(rank + 1))}};
  });
}

// Keys travel from rank to rank.
inline Plan ring_plan(int ranks) {
  const BlockMask mask = testing::sample_mask();
  const Request request = Request::attention(ranks, 4, 8, mask);
  PlanBuilder builder(request);
  Groups ring(1);
  for (int rank = 0; rank < ranks; ++rank) ring[0].push_back(rank);
  const Placement rows = even_rows(builder, request, mask);
  auto [q, kv] = builder.input_qkv(rows);
  const AccId acc = builder.accumulate(q);
  for (int step = 0; step < ranks; ++step) {
    Move hop;
    if (step + 1 < ranks) hop = builder.shift(kv, ring);
    builder.attend(acc, kv, step);
    if (step + 1 < ranks) kv = builder.wait(hop);
  }
  builder.output(builder.finish(acc), rows);
  return builder.take();
}

}  // namespace spscope::fuzz
