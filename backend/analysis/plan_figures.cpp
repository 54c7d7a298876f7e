#include "backend/analysis/plan_figures.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "backend/base/ids.h"
#include "backend/schedule/imbalance.h"

namespace spscope {
namespace {

// The reported name of a tensor's traffic: moves that only spread load are `exchange`, for every tensor.
const char* traffic_name(const Post& post, Tensor tensor) {
  if (post.balances) return "exchange";
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

// The tensors of one message with their bytes; text tokens separately.
void split_message(const Plan& plan, const Request& request, const Post& post, const Message& m,
                   const VisitSentTensor& visit) {
  const Value& value = plan.values[at(post.src)];
  const std::int64_t cells = volume(*plan.sets, m.box);
  const std::int64_t text = replicated_text(request, m.box);
  const std::int64_t element = std::int64_t{plan.element_bytes(value)} * plan.batch;
  bool first = true;
  for (int t = 0; t < kNumTensors; ++t) {
    if (!value.tensors.has(static_cast<Tensor>(t))) continue;
    const std::int64_t width = plan.tensor_width[t] * element;
    if (cells > text)
      visit(m, traffic_name(post, static_cast<Tensor>(t)), (cells - text) * width, std::exchange(first, false));
    if (text > 0) visit(m, "text", text * width, std::exchange(first, false));
  }
}

const MaskUse& mask_of(const Plan& plan, const Op& op) {
  return plan.masks[at(plan.accumulators[at(plan.post_of(op).acc)].mask)];
}

}  // namespace

void for_each_sent_tensor(const Plan& plan, const Request& request, const VisitSentTensor& visit) {
  for (const Op& op : plan.ops) {
    const Post& post = plan.post_of(op);
    if (!communicates(post.kind)) continue;
    for (MessageId id : plan.messages_of(op)) {
      const Message& m = plan.messages[at(id)];
      const bool starter = post.kind == PostKind::kPull ? m.dst == op.rank : m.src == op.rank;
      if (starter && m.src != m.dst) split_message(plan, request, post, m, visit);
    }
  }
}

void for_each_index(const Plan& plan, const Request& request, const VisitIndices& visit) {
  constexpr std::int64_t kIndexBytes = 12;
  for (const Op& op : plan.ops) {
    const Post& post = plan.post_of(op);
    if (!post.by_index) continue;
    const bool outer = request.spatiotemporal() && plan.values[at(post.src)].layer % 2 == 1;
    const AttendedAxis axis = outer ? AttendedAxis::kOuter : AttendedAxis::kInner;
    const auto use = std::ranges::find(plan.masks, axis, &MaskUse::axis);
    const BlockMask& mask = request.executed_mask(axis).refined(use == plan.masks.end() ? 1 : use->slices).mask();
    for (MessageId id : plan.messages_of(op)) {
      const Message& m = plan.messages[at(id)];
      if (m.src != op.rank || m.src == m.dst) continue;
      std::int64_t blocks = 0;
      const BlockCoverage coverage = mask.cover(plan.sets->spans(outer ? m.box.outer : m.box.inner));
      for (const BlockCoverage::Share& share : coverage.shares) blocks += share.slices;
      visit(m.dst, m.src, kIndexBytes * blocks * plan.sets->size(m.box.columns));
    }
  }
}

PlanVolume plan_volume(const Plan& plan, const Request& request) {
  PlanVolume v;
  v.sent = bytes_sent(plan);
  v.received = bytes_received(plan);
  v.sent_intra_node.assign(at(plan.ranks), 0);
  v.sent_inter_node.assign(at(plan.ranks), 0);
  for (const char* name : {"q", "k", "v", "o", "hidden", "exchange", "text", "norm", "metadata", "boundary"})
    v.by_tensor[name] = 0;
  const int per_node = request.ranks_per_node > 0 ? request.ranks_per_node : plan.ranks;
  for_each_sent_tensor(plan, request, [&](const Message& m, const char* tensor, std::int64_t bytes, bool first) {
    const bool intra = m.src / per_node == m.dst / per_node;
    (intra ? v.sent_intra_node : v.sent_inter_node)[at(m.src)] += bytes;
    v.by_tensor[tensor] += bytes;
    v.messages += first;
  });
  for_each_index(plan, request, [&](int, int, std::int64_t bytes) { v.by_tensor["metadata"] += bytes; });
  return v;
}

PlanTiles plan_tiles(const Plan& plan, const Request& request) {
  PlanTiles tiles;
  tiles.by_rank.assign(at(plan.ranks), 0);
  bool attends[2] = {false, false};
  // Shares of tiles add up, so steps of a ring with the same rows are counted at once: their keys together.
  std::map<std::tuple<int, AccId, SetId, SetId, SetId>, std::vector<SetId>> keys;  // by rank, heads, seq, q
  const auto add = [&](int rank, double coarse) {
    tiles.by_rank[at(rank)] += coarse;
    tiles.computed += coarse;
  };
  const auto sequences = [&](SetId seq) { return static_cast<double>(request.sets->size(seq)) * plan.batch; };
  for (const Op& op : plan.ops) {
    if (plan.kind_of(op) != PostKind::kAttend) continue;
    const MaskUse& use = mask_of(plan, op);
    attends[Request::axis_index(use.axis)] = true;
    if (use.slices == 1)
      add(op.rank, static_cast<double>(op.tiles));
    else
      keys[{op.rank, plan.post_of(op).acc, op.heads, op.seq, op.q}].push_back(op.k);
  }
  for (const auto& [rows, parts] : keys) {
    const auto& [rank, acc, heads, seq, q] = rows;
    const MaskUse& use = plan.masks[at(plan.accumulators[at(acc)].mask)];
    MaskCounter& mask = request.executed_mask(use.axis).refined(use.slices);
    add(rank, sequences(seq) * mask.coarse_tiles(heads, q, request.sets->unite(parts)));
  }
  double unique = 0;
  for (const AttendedAxis axis : {AttendedAxis::kOuter, AttendedAxis::kInner}) {
    if (!attends[Request::axis_index(axis)]) continue;
    const bool inner = axis == AttendedAxis::kInner;
    const SetId tokens = inner ? request.all_inner() : request.all_outer();
    const double all = inner ? request.outer_tokens : request.inner_tokens;
    unique += all * plan.batch * request.executed_mask(axis).coarse_tiles(request.all_heads(), tokens, tokens);
  }
  const double redundant = tiles.computed - unique;
  tiles.redundant = redundant > 1e-6 * unique ? redundant : 0;  // sums of slices round
  return tiles;
}

std::int64_t parameter_bytes(const Plan& plan) {
  const auto columns = [&](ValueId value, int rank) {
    SetId all = kEmptySet;
    for (const Box& box : plan.values[at(value)].placement.at(rank))
      all = plan.sets->unite(std::vector{all, box.columns});
    return plan.sets->size(all) * plan.width(plan.values[at(value)].tensors);
  };
  std::map<std::pair<int, KernelId>, std::int64_t> elements;  // a rank holds a weight once, however often it is used
  for (const Op& op : plan.ops) {
    const Post& post = plan.post_of(op);
    if (post.kind != PostKind::kLocal) continue;
    const Kernel& kernel = plan.kernels[at(post.kernel)];
    std::int64_t held = 0;
    if (kernel.contracts && kernel.out != Axis::kStat)
      held = columns(post.src, op.rank) * columns(post.dst, op.rank);
    else if (kernel.flops_per_column > 0)  // hidden channels of the text -> its keys and values
      held = 2 * columns(post.src, op.rank) * plan.num_columns[static_cast<int>(Axis::kHidden)];
    std::int64_t& most = elements[{op.rank, post.kernel}];
    most = std::max(most, held);
  }
  std::int64_t sum = 0;
  for (const auto& [key, held] : elements) sum += held;
  return sum * dtype_bytes(plan.dtype);
}

RowHomes row_homes(const Plan& plan, SetTable& sets) {
  RowHomes homes;
  // Of a spatial-temporal layer, the attention along frames is spread over ranks.
  const bool outer =
      std::ranges::any_of(plan.accumulators, [](const Accumulator& acc) { return acc.axis == AttendedAxis::kOuter; });
  homes.axis = outer ? AttendedAxis::kOuter : AttendedAxis::kInner;
  std::vector<std::vector<SetId>> attended(at(plan.ranks));
  for (const Op& op : plan.ops)
    if (plan.kind_of(op) == PostKind::kAttend && plan.accumulators[at(plan.post_of(op).acc)].axis == homes.axis)
      attended[at(op.rank)].push_back(op.q);
  const std::vector<int> group_of = ring_groups(plan);
  std::map<int, std::vector<int>> rings;
  for (int r = 0; r < plan.ranks; ++r) {
    homes.attended.push_back(sets.unite(attended[at(r)]));
    rings[group_of[at(r)]].push_back(r);
  }
  homes.home = homes.attended;
  for (const auto& [group, ranks] : rings) {
    std::vector<SetId> members;
    std::int64_t rows = 0;
    for (const int r : ranks) {
      members.push_back(homes.attended[at(r)]);
      rows += sets.size(members.back());
    }
    const SetId all = sets.unite(members);
    if (rows != sets.size(all)) continue;
    std::int64_t begin = 0;
    for (const int r : ranks) {
      const std::int64_t end = begin + sets.size(homes.attended[at(r)]);
      homes.home[at(r)] = sets.slice(all, begin, end);
      begin = end;
    }
  }
  return homes;
}

double moved_fraction(const Plan& plan) {
  const RowHomes homes = row_homes(plan, *plan.sets);
  std::int64_t moved = 0, rows = 0;
  for (std::size_t r = 0; r < homes.home.size(); ++r) {
    rows += plan.sets->size(homes.attended[r]);
    moved += plan.sets->size(plan.sets->minus(homes.attended[r], homes.home[r]));
  }
  return rows == 0 ? 0 : static_cast<double>(moved) / static_cast<double>(rows);
}

}  // namespace spscope
