#include "backend/schedule/cost.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "backend/base/ids.h"
#include "backend/base/stop_point.h"
#include "backend/plan/layer_kernels.h"
#include "backend/plan/plan_access.h"

namespace spscope {
namespace {

int head_dim(const Plan& plan) { return plan.tensor_width[static_cast<int>(Tensor::kQ)]; }

// One query row of an accumulator: o, m and l in fp32; and for every sample.
std::int64_t accumulator_row_bytes(const Plan& plan) { return plan.width(kPartialRows) * std::int64_t{sizeof(float)}; }
std::int64_t accumulator_cell_bytes(const Plan& plan) { return accumulator_row_bytes(plan) * plan.batch; }

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

// Times that a kernel moves each byte that it touches. Code that is not fused moves it once for each of its steps;
// matrix products, attention to text and copies are one kernel in all code.
double passes(const Plan& plan, const Post& post, const KernelCostProfile& profile) {
  if (post.kind == PostKind::kMerge) return profile.merge_passes;
  if (post.kind != PostKind::kLocal) return 1;
  const Kernel& kernel = plan.kernels[at(post.kernel)];
  if (kernel.contracts) return kernel.out == Axis::kStat ? profile.elementwise_passes : 1;
  const std::optional<LayerOp> op = find_layer_op(kernel.name);
  if (op == LayerOp::kCrossAttention) return 1;
  return op == LayerOp::kRmsRope || op == LayerOp::kHeadRmsRope ? profile.rotary_passes : profile.elementwise_passes;
}

// Tensors of one rank as large as its part of the op's first operand: how many fit what the op touches.
double tensors_touched(const Plan& plan, const Op& op) {
  const Value& src = plan.values[at(plan.post_of(op).src)];
  const std::int64_t bytes = bytes_at(plan, plan.post_of(op).src, op.rank);
  if (bytes == 0) return 0;
  return static_cast<double>(bytes_touched(plan, op)) * std::max(1, std::popcount(src.tensors.bits)) /
         static_cast<double>(bytes);
}

// Kernels that the host launches for an op: one, or for each pass of code that is not fused one a tensor.
double launches(const Plan& plan, const Op& op, const KernelCostProfile& profile) {
  // A merge reads a part, and reads and writes the accumulator.
  constexpr int kTensorsOfAMerge = 3;
  const Post& post = plan.post_of(op);
  if (post.kind == PostKind::kMerge) return kTensorsOfAMerge * profile.merge_passes;
  if (post.kind == PostKind::kAttend) return 1 + (post.merges ? kTensorsOfAMerge * profile.ring_merge_passes : 0);
  if (post.kind != PostKind::kLocal) return 1;
  const Kernel& kernel = plan.kernels[at(post.kernel)];
  if (kernel.contracts && kernel.out != Axis::kStat) return 1;
  if (find_layer_op(kernel.name) == LayerOp::kCrossAttention) return 1;
  return passes(plan, post, profile) * tensors_touched(plan, op);
}

// Attention of q to text that all ranks hold, and the projection of the text to k and v.
double cross_attention_ns(const Plan& plan, const Op& op, const Kernel& kernel, const KernelCostProfile& profile) {
  const Post& post = plan.post_of(op);
  const double cells =
      static_cast<double>(volume(*plan.sets, plan.values[at(post.src)].placement.at(op.rank))) * plan.batch;
  const double attention_flops = cells * static_cast<double>(kernel.flops_per_cell);
  const double area = attention_flops / (4.0 * head_dim(plan));
  return profile.attend_ns(cells, area, head_dim(plan)) +
         profile.gemm_ns_per_flop * (static_cast<double>(op.flops) - attention_flops);
}

// Slices of each block of the mask that an attend op runs on.
int slices_of(const Plan& plan, const Op& op) {
  return plan.masks[at(plan.accumulators[at(plan.post_of(op).acc)].mask)].slices;
}

// Merging a result into an accumulator that has attended before, where that is a kernel of its own.
double ring_merge_ns(const Plan& plan, const Op& op, double rows, const KernelCostProfile& profile) {
  if (profile.ring_merge_passes == 0 || !plan.post_of(op).merges) return 0;
  const double row_bytes = head_dim(plan) * dtype_bytes(plan.dtype) + 2 * accumulator_row_bytes(plan);
  return profile.ring_merge_passes * profile.move_ns_per_byte * rows * row_bytes;
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
  if (post.kind == PostKind::kAttend) {
    const auto rows = static_cast<double>(attend_num_rows(plan, op));
    return profile.attend_ns(rows, static_cast<double>(attend_area(plan, op)), head_dim(plan), slices_of(plan, op)) +
           ring_merge_ns(plan, op, rows, profile);
  }
  const double move_ns =
      profile.move_ns_per_byte * passes(plan, post, profile) * static_cast<double>(bytes_touched(plan, op));
  if (post.kind == PostKind::kLocal) {
    const Kernel& kernel = plan.kernels[at(post.kernel)];
    if (find_layer_op(kernel.name) == LayerOp::kCrossAttention)
      return std::max(move_ns, cross_attention_ns(plan, op, kernel, profile));
  }
  return std::max(move_ns, profile.gemm_ns_per_flop * static_cast<double>(op.flops));
}

HostTimes host_times(const Plan& plan, const KernelCostProfile& profile) {
  HostTimes times;
  if (profile.host_ns_per_launch == 0 && profile.host_ns_per_collective == 0 && profile.host_ns_per_hop == 0)
    return times;
  std::vector<double> clock_ns(at(plan.ranks), 0);
  times.issue_ns.reserve(plan.ops.size());
  for (const Op& op : plan.ops) {
    stop_point();
    double& clock = clock_ns[at(op.rank)];
    times.issue_ns.push_back(std::llround(clock));
    if (!communicates(plan.kind_of(op)))
      clock += profile.host_ns_per_launch * launches(plan, op, profile);
    else if (plan.post_of(op).collective == Collective::kPointToPoint ||
             plan.post_of(op).collective == Collective::kOneSided)
      clock += profile.host_ns_per_hop;
    else
      clock += profile.host_ns_per_collective;
  }
  for (const double clock : clock_ns) times.end_ns.push_back(std::llround(clock));
  return times;
}

AttendParts attend_parts(const Plan& plan, const Op& op, const KernelCostProfile& profile) {
  const auto total_ns = static_cast<std::int64_t>(std::ceil(op_cost_ns(plan, op, profile)));
  const auto rows = static_cast<double>(attend_num_rows(plan, op));
  const double of_rows_ns =
      profile.attend_ns(rows, 0, head_dim(plan), slices_of(plan, op)) - profile.attend_ns_per_launch;
  AttendParts parts;
  parts.launch_ns = std::min<std::int64_t>(total_ns, std::llround(profile.attend_ns_per_launch));
  parts.rows_ns = std::min<std::int64_t>(total_ns - parts.launch_ns, std::llround(of_rows_ns));
  parts.merge_ns = std::min<std::int64_t>(total_ns - parts.launch_ns - parts.rows_ns,
                                          std::llround(ring_merge_ns(plan, op, rows, profile)));
  parts.tiles_ns = total_ns - parts.launch_ns - parts.rows_ns - parts.merge_ns;
  return parts;
}

std::vector<std::int64_t> op_durations(const Plan& plan, const KernelCostProfile& profile) {
  std::vector<std::int64_t> durations_ns;
  durations_ns.reserve(plan.ops.size());
  for (const Op& op : plan.ops)
    durations_ns.push_back(static_cast<std::int64_t>(std::ceil(op_cost_ns(plan, op, profile))));
  return durations_ns;
}

}  // namespace spscope
