#include "backend/execute/program/program.h"

#include <algorithm>

#include "backend/plan/plan_access.h"

namespace spscope {
namespace {

// Ranks that must have posted before the op's data can move, from the next higher rank on.
std::vector<int> partners_of(const Plan& plan, const Op& op) {
  std::vector<int> partners;
  if (!two_sided(plan.kind_of(op))) return partners;
  if (plan.kind_of(op) == PostKind::kExchange) {
    for (MessageId id : plan.messages_of(op)) {
      const Message& m = plan.messages[static_cast<std::size_t>(id)];
      partners.push_back(m.src == op.rank ? m.dst : m.src);
    }
  } else {
    const auto group = plan.group(op.group);
    partners.assign(group.begin(), group.end());
  }
  std::erase(partners, op.rank);
  const auto distance = [&](int rank) { return (rank - op.rank + plan.ranks) % plan.ranks; };
  std::ranges::sort(partners, {}, distance);
  partners.erase(std::unique(partners.begin(), partners.end()), partners.end());
  return partners;
}

int takers_of(const Plan& plan, const Op& op) {
  std::vector<int> takers;
  for (MessageId id : plan.messages_of(op)) {
    const Message& m = plan.messages[static_cast<std::size_t>(id)];
    if (m.src == op.rank && m.dst != op.rank) takers.push_back(m.dst);
  }
  std::ranges::sort(takers);
  takers.erase(std::unique(takers.begin(), takers.end()), takers.end());
  return static_cast<int>(takers.size());
}

}  // namespace

Program::Program(const Plan& plan, RankView view)
    : plan_(plan), view_(std::move(view)), layout_(plan_), ops_(plan_.ops.size()) {
  CellFinder finder(plan_, layout_);
  for (OpId id = 0; id < static_cast<OpId>(plan_.ops.size()); ++id) {
    if (view_.has(plan_.ops[static_cast<std::size_t>(id)].rank))
      prepare_op(id, finder);
    else
      prepare_served(id, finder);
  }
  outputs_ = std::make_unique<OutputGather>(plan_, finder);
  prepare_lanes();
  count_users();
}

void Program::prepare_op(OpId id, CellFinder& finder) {
  const Op& op = plan_.ops[static_cast<std::size_t>(id)];
  ProgramOp& made = ops_[static_cast<std::size_t>(id)];
  prepare_dependencies(op, made);
  if (communicates(plan_.kind_of(op))) prepare_transfer(id, finder, made);
  use_slots(op, made);
}

// A pull or push of a rank of another process touches memory of ranks that did not start it.
void Program::prepare_served(OpId id, CellFinder& finder) {
  const Op& op = plan_.ops[static_cast<std::size_t>(id)];
  const PostKind kind = plan_.kind_of(op);
  if (kind != PostKind::kPull && kind != PostKind::kPush) return;
  ProgramOp& made = ops_[static_cast<std::size_t>(id)];
  use_slots(op, made);
  const auto is_far = [&](SlotId slot) { return !view_.has(layout_.slot(slot).rank); };
  std::erase_if(made.opens, is_far);
  std::erase_if(made.uses, is_far);
  if (!view_.reaches(op.rank) && !made.uses.empty()) prepare_transfer(id, finder, made);
}

void Program::use_slots(const Op& op, ProgramOp& made) const {
  TouchedSlots touched = touched_slots(plan_, layout_, op);
  made.opens = touched.written;
  made.uses = std::move(touched.written);
  for (SlotId slot : touched.read)
    if (std::ranges::find(made.uses, slot) == made.uses.end()) made.uses.push_back(slot);
}

void Program::prepare_lanes() {
  std::vector<ProgramLane> all(static_cast<std::size_t>(plan_.ranks) * static_cast<std::size_t>(plan_.lanes));
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].rank = static_cast<int>(i) / plan_.lanes;
    all[i].lane = static_cast<int>(i) % plan_.lanes;
  }
  for (OpId id = 0; id < static_cast<OpId>(plan_.ops.size()); ++id) {
    const Op& op = plan_.ops[static_cast<std::size_t>(id)];
    if (!view_.has(op.rank)) continue;
    all[static_cast<std::size_t>(op.rank * plan_.lanes + plan_.post_of(op).lane)].ops.push_back(id);
  }
  const auto post = [&](OpId id) { return plan_.ops[static_cast<std::size_t>(id)].post; };
  for (ProgramLane& lane : all) {
    std::ranges::stable_sort(lane.ops, {}, post);
    if (!lane.ops.empty()) lanes_.push_back(std::move(lane));
  }
}

void Program::prepare_dependencies(const Op& op, ProgramOp& made) const {
  for (OpId dependency : plan_.deps(op)) {
    const bool own = plan_.ops[static_cast<std::size_t>(dependency)].rank == op.rank;
    (own ? made.own_dependencies : made.remote_dependencies).push_back(dependency);
  }
}

void Program::prepare_transfer(OpId id, CellFinder& finder, ProgramOp& made) {
  const Op& op = plan_.ops[static_cast<std::size_t>(id)];
  const Post& post = plan_.post_of(op);
  made.transfer = std::make_unique<Transfer>();
  Transfer& transfer = *made.transfer;
  transfer.op = id;
  transfer.kind = post.kind;
  transfer.sequence = op.post;
  transfer.group = op.group;
  transfer.lane = post.lane;
  transfer.rank = op.rank;
  transfer.partners = partners_of(plan_, op);
  transfer.num_takers = two_sided(post.kind) ? takers_of(plan_, op) : 0;
  for (MessageId message : plan_.messages_of(op)) {
    const Message& m = plan_.messages[static_cast<std::size_t>(message)];
    if (!view_.has(op.rank) && !view_.has(m.src) && !view_.has(m.dst)) continue;  // served by another process
    transfer.parts.push_back(make_part(post, message, op.rank, finder));
  }
  std::ranges::sort(transfer.parts, {}, &TransferPart::message);
}

// A one-sided part has both ends, as far as their memory can be reached. Of a two-sided one a rank has its own end, and
// that of a source whose memory its process can reach without asking it.
TransferPart Program::make_part(const Post& post, MessageId id, int rank, CellFinder& finder) {
  const Message& m = plan_.messages[static_cast<std::size_t>(id)];
  const auto sees = [&](int end) {
    if (two_sided(post.kind)) return end == rank;
    return view_.reaches(end);
  };
  const bool finds_source = !view_.has(m.src) && view_.reaches(m.src) && m.dst == rank;
  TransferPart part{id, m.src, m.dst, {}, {}};
  if (sees(m.src) || finds_source)
    part.from = cells_.emplace_back(finder.value_cells(source_of(plan_, post, m), m.src, m.box));
  if (sees(m.dst)) part.to = cells_.emplace_back(finder.value_cells(post.dst, m.dst, m.box));
  return part;
}

void Program::count_users() {
  users_.assign(layout_.slots().size(), 0);
  for (const ProgramOp& op : ops_)
    for (SlotId slot : op.uses) ++users_[static_cast<std::size_t>(slot)];
  for (const Output& output : plan_.outputs)
    for_each_base(plan_, output.value, [&](ValueId base) {
      for (int rank = view_.local.first; rank < view_.local.first + view_.local.count; ++rank)
        if (const SlotId slot = layout_.value_slot(base, rank); slot != kNone) ++users_[static_cast<std::size_t>(slot)];
    });
  for (std::size_t id = 0; id < plan_.values.size(); ++id)
    for (int i = 0; i < view_.local.count && plan_.values[id].given; ++i) {
      const int rank = view_.local.first + i;
      const SlotId slot = layout_.value_slot(static_cast<ValueId>(id), rank);
      if (slot != kNone && users_[static_cast<std::size_t>(slot)] > 0) given_.push_back(slot);
    }
}

}  // namespace spscope
