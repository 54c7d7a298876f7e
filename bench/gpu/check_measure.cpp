// The compute of each rank alone: attention has a time, messages have none, and in a ring of two the rank whose rows
// meet more tiles takes longer.
#include <fmt/format.h>

#include "backend/execute/measure.h"
#include "backend/strategies/strategy.h"
#include "bench/gpu/all_checks.h"

namespace spscope::gpu_check {

CheckResult check_measure(const CheckContext& context) {
  CheckResult result;
  // Rows of the first half meet a quarter of the keys.
  const int block = context.tiny ? 16 : 128, blocks = context.tiny ? 4 : 64;
  BlockMask mask(2, BlockMask::uniform_starts(blocks * block, block));
  for (int head = 0; head < 2; ++head)
    for (std::int32_t q = 0; q < blocks; ++q)
      for (std::int32_t k = 0; k < (q < blocks / 2 ? blocks / 4 : blocks); ++k) mask.set(head, q, k);
  const Request request = Request::attention(2, 2, context.tiny ? 16 : 128, std::move(mask), Dtype::kBf16);
  const Plan plan = make_plan(*find_strategy("ring"), request, Parameters(find_strategy("ring")->parameters()));
  const auto ns = measure_compute(plan, request, generate_activations(request, 1), "cuda");
  double of_rank[2] = {};
  for (std::size_t op = 0; op < plan.ops.size(); ++op) {
    const PostKind kind = plan.kind_of(plan.ops[op]);
    if (communicates(kind) && ns.back()[op] != 0)
      result.faults.push_back(fmt::format("op {}: a message took time", op));
    if (kind == PostKind::kAttend) of_rank[plan.ops[op].rank] += static_cast<double>(ns.back()[op]);
  }
  if (!(of_rank[0] > 0 && of_rank[1] > of_rank[0]))
    result.faults.push_back(
        fmt::format("attention took {} ns on a rank with fewer tiles, {} ns on the other", of_rank[0], of_rank[1]));
  result.figures = {{"attention, fewer tiles", "us", of_rank[0] * 1e-3},
                    {"attention, more tiles", "us", of_rank[1] * 1e-3}};
  return result;
}

}  // namespace spscope::gpu_check
