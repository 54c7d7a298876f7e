#include "bench/gpu/workload.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "backend/base/rng.h"
#include "backend/plan/plan_builder.h"
#include "backend/strategies/strategy.h"

namespace spscope::gpu_check {
namespace {

Request request_of(int ranks, const Heads& heads, int tokens, int block, int row_load) {
  BlockMask mask(heads.heads, BlockMask::uniform_starts(tokens, block));
  Rng rng(1);
  std::vector<std::int32_t> order(static_cast<std::size_t>(mask.blocks()));
  std::iota(order.begin(), order.end(), 0);
  for (int head = 0; head < heads.heads; ++head)
    for (std::int32_t q = 0; q < mask.blocks(); ++q)
      for (std::int32_t i = 0; i < row_load; ++i) {
        if (row_load < mask.blocks())
          std::swap(order[static_cast<std::size_t>(i)],
                    order[static_cast<std::size_t>(i) + rng.below(static_cast<std::uint64_t>(mask.blocks() - i))]);
        mask.set(head, q, order[static_cast<std::size_t>(i)]);
      }
  Request request = Request::attention(ranks, heads.heads, heads.head_dim, std::move(mask), Dtype::kBf16);
  define_outputs(request);
  return request;
}

int blocks_of(int tokens, int block) { return (tokens + block - 1) / block; }

}  // namespace

Request dense_request(int ranks, const Heads& heads, int tokens, int block) {
  return request_of(ranks, heads, tokens, block, blocks_of(tokens, block));
}

Request sparse_request(const Heads& heads, int tokens, int block, double density) {
  const int blocks = blocks_of(tokens, block);
  return request_of(1, heads, tokens, block, std::clamp(static_cast<int>(std::lround(density * blocks)), 1, blocks));
}

Request wan_request(int ranks, bool tiny) {
  return dense_request(ranks, bench_heads(tiny), tiny ? 120 : 21 * 30 * 52, tiny ? 32 : 128);
}

Plan default_plan(const char* strategy, const Request& request) {
  const Strategy& row = *find_strategy(strategy);
  return make_plan(row, request, Parameters(row.parameters()));
}

Plan plan_in_parts(const Request& request) {
  constexpr std::size_t kParts = 8;
  PlanBuilder b(request);
  const Placement rows = b.place([&](int) { return BoxList{request.whole()}; });
  const auto [q, kv] = b.input_qkv(rows);
  const AccId acc = b.accumulate(q);
  const auto starts = request.executed_mask().mask().block_starts();
  const std::size_t blocks = starts.size() - 1, parts = std::min(kParts, blocks);
  for (std::size_t part = 0; part < parts; ++part) {
    const SetId keys = b.sets().span(starts[part * blocks / parts], starts[(part + 1) * blocks / parts]);
    b.attend(acc, b.narrow(kv, b.place([&](int) {
      return BoxList{{request.all_heads(), request.all_outer(), keys}};
    })));
  }
  b.output(b.finish(acc), rows);
  return b.take();
}

double attention_flops(const Request& request) {
  const double pairs = static_cast<double>(request.heads) * request.inner_tokens * request.inner_tokens *
                       request.executed_mask().mask().density();
  return 4.0 * request.head_dim * pairs;
}

}  // namespace spscope::gpu_check
