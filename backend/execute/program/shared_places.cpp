#include "backend/execute/program/shared_places.h"

#include <algorithm>

#include "backend/plan/plan_access.h"

namespace spscope {
namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

constexpr std::int32_t kForever = 1 << 30;  // a position that no lane reaches

// A slot that is placed, or to be placed.
struct Tenant {
  SlotId slot;
  OpId writer;  // kNone: an input, there from the start
  std::int64_t offset = -1, num_bytes = 0;
};

class Placer {
 public:
  Placer(const Plan& plan, const MemoryLayout& layout) : plan_(plan), layout_(layout) {
    places_.offset.assign(layout.slots().size(), -1);
    places_.bytes_of_rank.assign(at(plan.ranks), 0);
    shared_.assign(layout.slots().size(), false);
    writer_.assign(layout.slots().size(), kNone);
    last_user_.assign(layout.slots().size() * at(plan.lanes), -1);
  }
  void mark_shared(const std::function<bool(int, int)>& share_memory, const std::function<bool(int)>& wanted);
  void collect_users(const std::function<bool(int)>& wanted);
  SharedPlaces place();

 private:
  int lane_of(OpId id) const { return plan_.post_of(plan_.ops[at(id)]).lane; }
  std::int32_t* last_user(SlotId slot) { return last_user_.data() + at(slot) * at(plan_.lanes); }
  const std::int32_t* clock(OpId id) const { return clocks_.data() + at(id) * at(plan_.lanes); }
  void mark(ValueId value, int rank);
  void keep(SlotId slot) { std::fill_n(last_user(slot), plan_.lanes, kForever); }
  void set_clock(OpId id, std::vector<OpId>& last_of_lane);
  bool is_free(SlotId slot, OpId writer);
  void place_one(Tenant& tenant, std::vector<Tenant>& placed);

  const Plan& plan_;
  const MemoryLayout& layout_;
  SharedPlaces places_;
  std::vector<bool> shared_;             // by slot
  std::vector<OpId> writer_;             // by slot: of its rank
  std::vector<std::int32_t> last_user_;  // [slots][lanes]: position on the lane; -1: none
  std::vector<std::int32_t> position_;   // by op: on its lane
  std::vector<std::int32_t> clocks_;     // [ops][lanes]: the last op of its rank that has ended when this one starts
};

void Placer::mark(ValueId value, int rank) {
  for_each_base(plan_, value, [&](ValueId base) {
    if (const SlotId slot = layout_.value_slot(base, rank); slot != kNone) shared_[at(slot)] = true;
  });
}

// Receivers and pulls read from the source; a push writes at its destination.
void Placer::mark_shared(const std::function<bool(int, int)>& share_memory, const std::function<bool(int)>& wanted) {
  for (const Op& op : plan_.ops) {
    const Post& post = plan_.post_of(op);
    for (MessageId id : plan_.messages_of(op)) {
      const Message& m = plan_.messages[at(id)];
      if (m.src == m.dst || !share_memory(m.src, m.dst)) continue;
      const bool push = post.kind == PostKind::kPush;
      if (wanted(push ? m.dst : m.src)) mark(push ? post.dst : post.src, push ? m.dst : m.src);
    }
  }
}

void Placer::set_clock(OpId id, std::vector<OpId>& last_of_lane) {
  const Op& op = plan_.ops[at(id)];
  std::int32_t* mine = clocks_.data() + at(id) * at(plan_.lanes);
  const auto learn = [&](OpId before) {
    for (int l = 0; l < plan_.lanes; ++l) mine[l] = std::max(mine[l], clock(before)[l]);
    mine[lane_of(before)] = std::max(mine[lane_of(before)], position_[at(before)]);
  };
  OpId& last = last_of_lane[at(op.rank * plan_.lanes + lane_of(id))];
  if (last != kNone) learn(last);
  for (OpId dependency : plan_.deps(op))
    if (plan_.ops[at(dependency)].rank == op.rank) learn(dependency);
  position_[at(id)] = last == kNone ? 0 : position_[at(last)] + 1;
  last = id;
}

void Placer::collect_users(const std::function<bool(int)>& wanted) {
  position_.assign(plan_.ops.size(), 0);
  clocks_.assign(plan_.ops.size() * at(plan_.lanes), -1);
  std::vector<OpId> last_of_lane(at(plan_.ranks) * at(plan_.lanes), kNone);
  for (OpId id = 0; id < static_cast<OpId>(plan_.ops.size()); ++id) {
    const Op& op = plan_.ops[at(id)];
    const PostKind kind = plan_.kind_of(op);
    if (!wanted(op.rank) && kind != PostKind::kPull && kind != PostKind::kPush) continue;
    set_clock(id, last_of_lane);
    const TouchedSlots touched = touched_slots(plan_, layout_, op);
    const auto use = [&](SlotId slot, bool writes) {
      if (!shared_[at(slot)]) return;
      if (layout_.slot(slot).rank != op.rank) return keep(slot);
      last_user(slot)[lane_of(id)] = std::max(last_user(slot)[lane_of(id)], position_[at(id)]);
      if (writes && writer_[at(slot)] == kNone) writer_[at(slot)] = id;
    };
    for (SlotId slot : touched.read) use(slot, false);
    for (SlotId slot : touched.written) use(slot, true);
  }
  for (const Output& output : plan_.outputs)
    for_each_base(plan_, output.value, [&](ValueId base) {
      for (int rank = 0; rank < plan_.ranks; ++rank)
        if (const SlotId slot = layout_.value_slot(base, rank); slot != kNone) keep(slot);
    });
}

// Whether every user of the slot is known to have ended when `writer` starts.
bool Placer::is_free(SlotId slot, OpId writer) {
  if (writer == kNone) return false;
  for (int l = 0; l < plan_.lanes; ++l)
    if (clock(writer)[l] < last_user(slot)[l]) return false;
  return true;
}

// The lowest gap between the slots that may be in use.
void Placer::place_one(Tenant& tenant, std::vector<Tenant>& placed) {
  std::vector<const Tenant*> in_use;
  for (const Tenant& other : placed)
    if (!is_free(other.slot, tenant.writer)) in_use.push_back(&other);
  std::ranges::sort(in_use, {}, [](const Tenant* t) { return t->offset; });
  std::int64_t offset = 0;
  for (const Tenant* other : in_use) {
    if (offset + tenant.num_bytes <= other->offset) break;
    offset = std::max(offset, other->offset + other->num_bytes);
  }
  tenant.offset = places_.offset[at(tenant.slot)] = offset;
  std::int64_t& total = places_.bytes_of_rank[at(layout_.slot(tenant.slot).rank)];
  total = std::max(total, offset + tenant.num_bytes);
  placed.push_back(tenant);
}

SharedPlaces Placer::place() {
  std::vector<std::vector<Tenant>> tenants(at(plan_.ranks)), placed(at(plan_.ranks));
  for (SlotId slot = 0; slot < static_cast<SlotId>(shared_.size()); ++slot)
    if (shared_[at(slot)])
      tenants[at(layout_.slot(slot).rank)].push_back({slot, writer_[at(slot)], -1, layout_.allocated_bytes(slot)});
  for (std::size_t rank = 0; rank < tenants.size(); ++rank) {
    std::ranges::stable_sort(tenants[rank], {}, &Tenant::writer);
    for (Tenant& tenant : tenants[rank]) place_one(tenant, placed[rank]);
  }
  return std::move(places_);
}

}  // namespace

SharedPlaces place_shared_slots(const Plan& plan, const MemoryLayout& layout,
                                const std::function<bool(int rank, int other)>& share_memory,
                                const std::function<bool(int rank)>& wanted) {
  Placer placer(plan, layout);
  placer.mark_shared(share_memory, wanted);
  placer.collect_users(wanted);
  return placer.place();
}

}  // namespace spscope
