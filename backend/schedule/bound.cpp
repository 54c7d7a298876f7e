#include "backend/schedule/bound.h"

#include <algorithm>
#include <cmath>

#include "backend/schedule/cost.h"

namespace spscope {
namespace {

// (head, query) pairs with an active key.
std::int64_t num_active_rows(const BlockMask& mask) {
  std::int64_t rows = 0;
  for (int head = 0; head < mask.heads(); ++head)
    for (std::int32_t block = 0; block < mask.coarse_blocks(); ++block)
      if (std::ranges::any_of(mask.row(head, block), [](std::uint64_t word) { return word != 0; }))
        rows += mask.coarse_starts()[static_cast<std::size_t>(block) + 1] -
                mask.coarse_starts()[static_cast<std::size_t>(block)];
  return rows;
}

double attention_ns(const Request& request, AttendedAxis axis, const KernelCostProfile& profile) {
  MaskCounter& counter = request.executed_mask(axis);
  const bool inner = axis == AttendedAxis::kInner;
  const SetId tokens = inner ? request.all_inner() : request.all_outer();
  const std::int64_t area = counter.count(request.all_heads(), tokens, tokens).area;
  if (area == 0) return 0;
  const std::int64_t sequences = std::int64_t{inner ? request.outer_tokens : request.inner_tokens} * request.batch;
  return profile.attend_ns(static_cast<double>(num_active_rows(counter.mask()) * sequences),
                           static_cast<double>(area * sequences), request.head_dim);
}

}  // namespace

std::int64_t makespan_bound_ns(const Request& request, const Plan& single, const KernelCostProfile& profile) {
  double total_ns = 0;
  bool attends[2] = {false, false};  // by axis; a layer may leave an axis of the request alone
  for (const Op& op : single.ops) {
    const Post& post = single.post_of(op);
    if (post.kind == PostKind::kAttend)
      attends[Request::axis_index(single.accumulators[static_cast<std::size_t>(post.acc)].axis)] = true;
    else
      total_ns += op_cost_ns(single, op, profile);
  }
  for (const AttendedAxis axis : {AttendedAxis::kInner, AttendedAxis::kOuter})
    if (attends[Request::axis_index(axis)]) total_ns += attention_ns(request, axis, profile);
  // Less 1e-12 of it, so that rounding of these sums cannot lift the bound above a true makespan.
  return static_cast<std::int64_t>(std::floor(total_ns / request.ranks * (1 - 1e-12)));
}

}  // namespace spscope
