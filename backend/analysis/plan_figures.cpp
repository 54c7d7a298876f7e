#include "backend/analysis/plan_figures.h"

namespace spscope {
namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

// The reported name of a tensor's traffic.
const char* traffic_name(Tensor tensor) {
  switch (tensor) {
    case Tensor::kQ:
      return "q";
    case Tensor::kK:
      return "k";
    case Tensor::kV:
      return "v";
    case Tensor::kO:
    case Tensor::kRowStats:
      return "o";
    case Tensor::kX:
    case Tensor::kF:
      return "hidden";
    case Tensor::kNorm:
      return "norm";
  }
  return "";
}

// Cells of a box that are text tokens held by every rank.
std::int64_t replicated_text(const Request& request, const Box& box) {
  if (request.text != TextLayout::kReplicate || request.text_tokens == 0) return 0;
  SetTable& sets = *request.sets;
  return volume(sets, Box{box.columns, box.outer, sets.both(box.inner, request.words())});
}

void add_traffic(const Plan& plan, const Request& request, const Value& value, const Message& m,
                 PlanVolume& volume_of) {
  const std::int64_t cells = volume(*plan.sets, m.box);
  const std::int64_t text = replicated_text(request, m.box);
  const std::int64_t element = std::int64_t{plan.element_bytes(value)} * plan.batch;
  for (int t = 0; t < kNumTensors; ++t) {
    if (!value.tensors.has(static_cast<Tensor>(t))) continue;
    const std::int64_t width = plan.tensor_width[t] * element;
    volume_of.by_tensor[traffic_name(static_cast<Tensor>(t))] += (cells - text) * width;
    volume_of.by_tensor["text"] += text * width;
  }
}

// Pairs of an attend op on a mask: sequences x batch x area.
double area_of(const Plan& plan, const Request& request, const Op& op, MaskCounter& mask) {
  const double sequences = static_cast<double>(request.sets->size(op.seq)) * plan.batch;
  return sequences * static_cast<double>(mask.count(op.heads, op.q, op.k).area);
}

const MaskUse& mask_of(const Plan& plan, const Op& op) {
  return plan.masks[at(plan.accumulators[at(plan.post_of(op).acc)].mask)];
}

}  // namespace

PlanVolume plan_volume(const Plan& plan, const Request& request) {
  PlanVolume v;
  v.sent = bytes_sent(plan);
  v.received = bytes_received(plan);
  v.sent_intra_node.assign(at(plan.ranks), 0);
  v.sent_inter_node.assign(at(plan.ranks), 0);
  for (const char* name : {"q", "k", "v", "o", "hidden", "exchange", "text", "norm", "metadata", "boundary"})
    v.by_tensor[name] = 0;
  const int per_node = request.ranks_per_node > 0 ? request.ranks_per_node : plan.ranks;
  for (const Op& op : plan.ops) {
    const Post& post = plan.post_of(op);
    if (!communicates(post.kind)) continue;
    for (MessageId id : plan.messages_of(op)) {
      const Message& m = plan.messages[at(id)];
      const bool starter = post.kind == PostKind::kPull ? m.dst == op.rank : m.src == op.rank;
      if (!starter || m.src == m.dst) continue;
      ++v.messages;
      (m.src / per_node == m.dst / per_node ? v.sent_intra_node : v.sent_inter_node)[at(m.src)] += m.bytes;
      add_traffic(plan, request, plan.values[at(post.src)], m, v);
    }
  }
  return v;
}

PlanWork plan_work(const Plan& plan, const Request& request) {
  PlanWork work;
  work.area.assign(plan.ops.size(), 0);
  bool attends[2] = {false, false};
  for (std::size_t i = 0; i < plan.ops.size(); ++i) {
    const Op& op = plan.ops[i];
    if (plan.kind_of(op) != PostKind::kAttend) continue;
    const MaskUse& use = mask_of(plan, op);
    attends[Request::axis_index(use.axis)] = true;
    MaskCounter& mask = request.executed_mask(use.axis).refined(use.slices);
    work.area[i] = area_of(plan, request, op, mask);
    const double sequences = static_cast<double>(request.sets->size(op.seq)) * plan.batch;
    work.tiles += use.slices == 1 ? static_cast<double>(op.tiles) : sequences * mask.coarse_tiles(op.heads, op.q, op.k);
  }
  double unique = 0;
  for (const AttendedAxis axis : {AttendedAxis::kOuter, AttendedAxis::kInner}) {
    if (!attends[Request::axis_index(axis)]) continue;
    const bool inner = axis == AttendedAxis::kInner;
    const SetId tokens = inner ? request.all_inner() : request.all_outer();
    const double sequences = inner ? request.outer_tokens : request.inner_tokens;
    unique += sequences * plan.batch * request.executed_mask(axis).coarse_tiles(request.all_heads(), tokens, tokens);
  }
  work.tiles_redundant = work.tiles > unique ? work.tiles - unique : 0;
  return work;
}

std::optional<std::vector<double>> planned_area(const Plan& plan, const Request& request) {
  std::vector<double> area(plan.ops.size(), 0);
  for (std::size_t i = 0; i < plan.ops.size(); ++i) {
    if (plan.kind_of(plan.ops[i]) != PostKind::kAttend) continue;
    const MaskUse& use = mask_of(plan, plan.ops[i]);
    MaskCounter* known = request.known_mask(use.axis);
    if (!known) return std::nullopt;
    area[i] = area_of(plan, request, plan.ops[i], known->refined(use.slices));
  }
  return area;
}

}  // namespace spscope
