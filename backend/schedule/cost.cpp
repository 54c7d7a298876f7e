#include "backend/schedule/cost.h"

#include <algorithm>
#include <cmath>

#include "backend/plan/plan_access.h"

namespace spscope {
namespace {

constexpr std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

int head_dim(const Plan& plan) { return plan.tensor_width[static_cast<int>(Tensor::kQ)]; }

// One query row of an accumulator: o, m and l in fp32, for every sample.
std::int64_t accumulator_cell_bytes(const Plan& plan) {
  return plan.width(kPartialRows) * std::int64_t{sizeof(float)} * plan.batch;
}

// The part of a weight that an op multiplies by; a norm statistic has none.
std::int64_t weight_bytes(const Plan& plan, const Op& op) {
  const Post& post = plan.post_of(op);
  const Kernel& kernel = plan.kernels[at(post.kernel)];
  if (!kernel.contracts || kernel.out == Axis::kStat) return 0;
  const auto channels = [&](ValueId id) {
    const Value& value = plan.values[at(id)];
    const std::span<const Box> boxes = value.placement.at(op.rank);
    return boxes.empty() ? 0 : plan.sets->size(boxes.front().columns) * plan.width(value.tensors);
  };
  return channels(post.src) * channels(post.dst) * dtype_bytes(plan.dtype);
}

std::int64_t bytes_at(const Plan& plan, ValueId id, int rank) {
  const Value& value = plan.values[at(id)];
  return volume(*plan.sets, value.placement.at(rank)) * plan.cell_bytes(value);
}

}  // namespace

std::int64_t attend_num_rows(const Plan& plan, const Op& op) {
  return volume(*plan.sets, attend_rows(plan, op)) * plan.batch;
}

std::int64_t attend_area(const Plan& plan, const Op& op) { return op.flops / (4 * std::int64_t{head_dim(plan)}); }

std::int64_t bytes_touched(const Plan& plan, const Op& op) {
  const Post& post = plan.post_of(op);
  std::int64_t bytes = 0;
  switch (post.kind) {
    case PostKind::kLocal:
      bytes = bytes_at(plan, post.src, op.rank) + bytes_at(plan, post.dst, op.rank) + weight_bytes(plan, op);
      for (ValueId id : plan.value_list(post.operands)) bytes += bytes_at(plan, id, op.rank);
      break;
    case PostKind::kCopy: {
      const std::int64_t cell = plan.cell_bytes(plan.values[at(post.src)]);
      for (MessageId m : plan.messages_of(op)) bytes += 2 * volume(*plan.sets, plan.messages[at(m)].box) * cell;
      break;
    }
    case PostKind::kMerge: {
      const std::int64_t cell = plan.cell_bytes(plan.values[at(post.src)]) + 2 * accumulator_cell_bytes(plan);
      for_each_read(plan, op, [&](int, ValueId, const Box& box) { bytes += volume(*plan.sets, box) * cell; });
      break;
    }
    case PostKind::kFinish: {
      const Value& q = plan.values[at(plan.accumulators[at(post.acc)].q)];
      bytes = volume(*plan.sets, q.placement.at(op.rank)) * accumulator_cell_bytes(plan) +
              bytes_at(plan, post.dst, op.rank);
      break;
    }
    default:
      break;
  }
  return bytes;
}

double op_cost_ns(const Plan& plan, const Op& op, const KernelCostProfile& profile) {
  const Post& post = plan.post_of(op);
  if (communicates(post.kind)) return 0;
  if (post.kind == PostKind::kAttend)
    return profile.attend_ns(static_cast<double>(attend_num_rows(plan, op)), static_cast<double>(attend_area(plan, op)),
                             head_dim(plan));
  const double move_ns = profile.move_ns_per_byte * static_cast<double>(bytes_touched(plan, op));
  return std::max(move_ns, profile.gemm_ns_per_flop * static_cast<double>(op.flops));
}

std::vector<std::int64_t> op_durations(const Plan& plan, const KernelCostProfile& profile) {
  std::vector<std::int64_t> durations_ns;
  durations_ns.reserve(plan.ops.size());
  for (const Op& op : plan.ops)
    durations_ns.push_back(static_cast<std::int64_t>(std::ceil(op_cost_ns(plan, op, profile))));
  return durations_ns;
}

}  // namespace spscope
