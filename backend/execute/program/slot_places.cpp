#include "backend/execute/program/slot_places.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "backend/base/ids.h"
#include "backend/base/rng.h"
#include "backend/plan/plan_access.h"

namespace spscope {
namespace {

constexpr std::int32_t kForever = 1 << 30;  // a position that no lane reaches

// A slot to be placed.
struct Tenant {
  SlotId slot;
  OpId opener;  // kNone: there from the start
  std::int64_t num_bytes = 0;
};

struct Packing {
  std::vector<std::int64_t> offset;  // by tenant
  std::int64_t num_bytes = 0;
};

// Tenants in the given order, each in the lowest gap between the neighbours that have a place.
Packing pack_in_order(const std::vector<Tenant>& tenants, const std::vector<std::vector<std::size_t>>& neighbours,
                      const std::vector<std::size_t>& order) {
  Packing packing{std::vector<std::int64_t>(tenants.size(), -1), 0};
  std::vector<std::size_t> placed;
  for (const std::size_t tenant : order) {
    placed.clear();
    for (const std::size_t other : neighbours[tenant])
      if (packing.offset[other] >= 0) placed.push_back(other);
    std::ranges::sort(placed, {}, [&](std::size_t other) { return packing.offset[other]; });
    std::int64_t offset = 0;
    for (const std::size_t other : placed) {
      if (offset + tenants[tenant].num_bytes <= packing.offset[other]) break;
      offset = std::max(offset, packing.offset[other] + tenants[other].num_bytes);
    }
    packing.offset[tenant] = offset;
    packing.num_bytes = std::max(packing.num_bytes, offset + tenants[tenant].num_bytes);
  }
  return packing;
}

// Packing with the fewest bytes is hard, and tenants are few: the best of many orders. From the orders in which tenants
// open and by size, those that lie highest go first, or to a place before their own; an order stays when it is no
// worse. The better of these two orders alone takes up to 30 % more bytes.
class Packer {
 public:
  Packer(const std::vector<Tenant>& tenants, const std::vector<std::vector<std::size_t>>& neighbours)
      : tenants_(tenants), neighbours_(neighbours) {
    // What a tenant and the earlier ones that are in use with it take: no packing needs less.
    std::int64_t visits = 1;
    for (std::size_t t = 0; t < tenants.size(); ++t) {
      std::int64_t bytes = tenants[t].num_bytes;
      for (const std::size_t other : neighbours[t]) bytes += other < t ? tenants[other].num_bytes : 0;
      needed_ = std::max(needed_, bytes);
      visits += static_cast<std::int64_t>(neighbours[t].size());
    }
    tries_ = static_cast<int>(std::clamp<std::int64_t>(kVisits / visits, 4, kMaxTries));
  }
  Packing best() {
    std::vector<std::size_t> order(tenants_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    improve(order);
    std::ranges::stable_sort(order, std::greater(), [&](std::size_t t) { return tenants_[t].num_bytes; });
    improve(order);
    return std::move(best_);
  }

 private:
  static constexpr std::int64_t kVisits = 4'000'000;  // of neighbours: about 50 ms
  static constexpr int kMaxTries = 3000, kStale = 40;

  bool keep_if_best(const Packing& packing) {
    if (best_.offset.empty() || packing.num_bytes < best_.num_bytes) best_ = packing;
    return best_.num_bytes <= needed_;
  }
  void improve(std::vector<std::size_t> order) {
    Packing packing = pack_in_order(tenants_, neighbours_, order);
    if (keep_if_best(packing)) return;
    Rng rng(1);
    const auto any = [&] { return at(rng.below(static_cast<std::int64_t>(order.size()))); };
    for (int i = 0, stale = 0; i < tries_; ++i) {
      std::vector<std::size_t> next = order;
      if (++stale > kStale) {  // elsewhere
        for (std::size_t k = 0; k < next.size(); ++k) std::swap(next[k], next[any()]);
        stale = 0;
      } else {
        const auto highest = std::ranges::find_if(
            order, [&](std::size_t t) { return packing.offset[t] + tenants_[t].num_bytes == packing.num_bytes; });
        const auto from = highest - order.begin();
        const auto to = i % 2 == 0 || from == 0 ? 0 : rng.below(from);
        std::rotate(next.begin() + to, next.begin() + from, next.begin() + from + 1);
        if (i % 4 == 3) std::swap(next[any()], next[any()]);
      }
      Packing other = pack_in_order(tenants_, neighbours_, next);
      if (keep_if_best(other)) return;
      if (stale > 0 && other.num_bytes > packing.num_bytes) continue;
      if (other.num_bytes < packing.num_bytes) stale = 0;
      order = std::move(next);
      packing = std::move(other);
    }
  }

  const std::vector<Tenant>& tenants_;
  const std::vector<std::vector<std::size_t>>& neighbours_;
  std::int64_t needed_ = 0;
  int tries_ = 0;
  Packing best_;
};

class Placer {
 public:
  Placer(const Plan& plan, const MemoryLayout& layout, const std::vector<bool>& wanted)
      : plan_(plan), layout_(layout), wanted_(wanted), fences_(at(plan.ranks)) {
    const std::size_t slots = layout.slots().size();
    places_.offset.assign(slots, -1);
    places_.opener.assign(slots, kNone);
    places_.bytes_of_rank.assign(at(plan.ranks), 0);
    places_.live_bytes_of_rank.assign(at(plan.ranks), 0);
    places_.fullest.assign(at(plan.ranks), kNone);
    last_user_.assign(slots * at(plan.lanes), -1);
    remote_users_.resize(slots);
    has_slots_.assign(at(plan.ranks), false);
    for (SlotId slot = 0; slot < static_cast<SlotId>(slots); ++slot)
      if (wanted[at(slot)]) has_slots_[at(layout.slot(slot).rank)] = true;
  }
  SlotPlaces place(const std::vector<EarlyOpening>& early);

 private:
  const Op& op(OpId id) const { return plan_.ops[at(id)]; }
  int lane_of(OpId id) const { return plan_.post_of(op(id)).lane; }
  std::int32_t* last_user(SlotId slot) { return last_user_.data() + at(slot) * at(plan_.lanes); }
  const std::int32_t* clock(OpId id) const { return clocks_.data() + at(id) * at(plan_.lanes); }
  void keep(SlotId slot) { std::fill_n(last_user(slot), plan_.lanes, kForever); }
  void set_clocks();
  void set_clock(OpId id, std::vector<OpId>& last_of_lane);
  void collect_users();
  void use(SlotId slot, OpId id, bool writes);
  void open_by(SlotId slot, OpId id);
  bool joins(OpId barrier, int rank) const {
    return std::ranges::find(plan_.group(op(barrier).group), rank) != plan_.group(op(barrier).group).end();
  }
  // Whether op `id` of the opener's rank is known to have ended when the opener starts.
  bool has_ended(OpId id, OpId opener) const { return clock(opener)[lane_of(id)] >= position_[at(id)]; }
  bool remote_has_ended(OpId user, OpId opener) const;
  bool is_free(SlotId slot, OpId opener);
  std::vector<std::vector<std::size_t>> find_neighbours(const std::vector<Tenant>& tenants);
  void place_rank(std::vector<Tenant> tenants);

  const Plan& plan_;
  const MemoryLayout& layout_;
  const std::vector<bool>& wanted_;
  SlotPlaces places_;
  std::vector<bool> has_slots_;                  // by rank
  std::vector<std::int32_t> last_user_;          // [slots][lanes]: position on the lane; -1: none
  std::vector<std::vector<OpId>> remote_users_;  // by slot: ops of other ranks
  std::vector<bool> opened_;                     // by slot: `opener` is known
  std::vector<std::int32_t> position_;           // by op: on its lane
  std::vector<std::int32_t> clocks_;             // [ops][lanes]: the last op of its rank that has ended as it starts
  std::vector<std::vector<OpId>> fences_;        // by rank: its barriers
  std::map<std::pair<OpId, int>, std::vector<OpId>> dependents_;  // ops of a rank that depend on an op of another
};

void Placer::set_clock(OpId id, std::vector<OpId>& last_of_lane) {
  std::int32_t* mine = clocks_.data() + at(id) * at(plan_.lanes);
  const auto learn = [&](OpId before) {
    for (int l = 0; l < plan_.lanes; ++l) mine[l] = std::max(mine[l], clock(before)[l]);
    mine[lane_of(before)] = std::max(mine[lane_of(before)], position_[at(before)]);
  };
  const int rank = op(id).rank;
  OpId& last = last_of_lane[at(rank * plan_.lanes + lane_of(id))];
  if (last != kNone) learn(last);
  for (OpId dependency : plan_.deps(op(id))) {
    if (op(dependency).rank == rank)
      learn(dependency);
    else
      dependents_[{dependency, rank}].push_back(id);
  }
  position_[at(id)] = last == kNone ? 0 : position_[at(last)] + 1;
  last = id;
  if (plan_.kind_of(op(id)) == PostKind::kBarrier) fences_[at(rank)].push_back(id);
}

void Placer::set_clocks() {
  position_.assign(plan_.ops.size(), 0);
  clocks_.assign(plan_.ops.size() * at(plan_.lanes), -1);
  std::vector<OpId> last_of_lane(at(plan_.ranks) * at(plan_.lanes), kNone);
  for (OpId id = 0; id < static_cast<OpId>(plan_.ops.size()); ++id)
    if (has_slots_[at(op(id).rank)]) set_clock(id, last_of_lane);
}

// Keeps the earliest opener.
void Placer::open_by(SlotId slot, OpId id) {
  OpId& opener = places_.opener[at(slot)];
  if (!opened_[at(slot)])
    opener = id;
  else if (opener != kNone)
    opener = id == kNone || op(id).post < op(opener).post ? id : opener;
  opened_[at(slot)] = true;
}

// What another rank writes into opens with the last barrier of both before, else it is there from the start.
void Placer::use(SlotId slot, OpId id, bool writes) {
  if (!wanted_[at(slot)]) return;
  const int rank = layout_.slot(slot).rank;
  if (rank == op(id).rank) {
    last_user(slot)[lane_of(id)] = std::max(last_user(slot)[lane_of(id)], position_[at(id)]);
    if (writes) open_by(slot, id);
    return;
  }
  remote_users_[at(slot)].push_back(id);
  if (!writes) return;
  OpId fence = kNone;
  for (OpId f : fences_[at(rank)])
    if (op(f).post < op(id).post && joins(f, op(id).rank)) fence = f;
  open_by(slot, fence);
}

void Placer::collect_users() {
  opened_.assign(layout_.slots().size(), false);
  for (OpId id = 0; id < static_cast<OpId>(plan_.ops.size()); ++id) {
    const PostKind kind = plan_.kind_of(op(id));
    if (!has_slots_[at(op(id).rank)] && kind != PostKind::kPull && kind != PostKind::kPush) continue;
    const TouchedSlots touched = touched_slots(plan_, layout_, op(id));
    for (SlotId slot : touched.read) use(slot, id, false);
    for (SlotId slot : touched.written) use(slot, id, true);
  }
  for (std::size_t value = 0; value < plan_.values.size(); ++value)
    for (int rank = 0; rank < plan_.ranks && plan_.values[value].given; ++rank)
      if (const SlotId slot = layout_.value_slot(static_cast<ValueId>(value), rank); slot != kNone)
        open_by(slot, kNone);
  for (const Output& output : plan_.outputs)
    for_each_base(plan_, output.value, [&](ValueId base) {
      for (int rank = 0; rank < plan_.ranks; ++rank)
        if (const SlotId slot = layout_.value_slot(base, rank); slot != kNone) keep(slot);
    });
}

// By an op that waits for the user, or by the first barrier of both ranks after it.
bool Placer::remote_has_ended(OpId user, OpId opener) const {
  const int rank = op(opener).rank;
  if (const auto found = dependents_.find({user, rank}); found != dependents_.end())
    for (OpId dependent : found->second)
      if (dependent == opener || has_ended(dependent, opener)) return true;
  for (OpId fence : fences_[at(rank)])
    if (op(fence).post > op(user).post && joins(fence, op(user).rank)) return has_ended(fence, opener);
  return false;
}

// Whether every user of the slot is known to have ended when the opener starts.
bool Placer::is_free(SlotId slot, OpId opener) {
  if (opener == kNone) return false;
  for (int l = 0; l < plan_.lanes; ++l)
    if (clock(opener)[l] < last_user(slot)[l]) return false;
  return std::ranges::all_of(remote_users_[at(slot)], [&](OpId user) { return remote_has_ended(user, opener); });
}

// By tenant, those that may be in use together with it. Also the most bytes of elements in use at one time.
std::vector<std::vector<std::size_t>> Placer::find_neighbours(const std::vector<Tenant>& tenants) {
  std::vector<std::vector<std::size_t>> neighbours(tenants.size());
  for (std::size_t later = 0; later < tenants.size(); ++later) {
    const BufferSlot& slot = layout_.slot(tenants[later].slot);
    std::int64_t live = slot.num_bytes;
    for (std::size_t earlier = 0; earlier < later; ++earlier) {
      if (is_free(tenants[earlier].slot, tenants[later].opener)) continue;
      neighbours[later].push_back(earlier);
      neighbours[earlier].push_back(later);
      live += layout_.slot(tenants[earlier].slot).num_bytes;
    }
    std::int64_t& most = places_.live_bytes_of_rank[at(slot.rank)];
    if (live <= most) continue;
    most = live;
    places_.fullest[at(slot.rank)] = tenants[later].opener;
  }
  return neighbours;
}

void Placer::place_rank(std::vector<Tenant> tenants) {
  if (tenants.empty()) return;
  const auto post = [&](const Tenant& t) { return t.opener == kNone ? -1 : op(t.opener).post; };
  std::ranges::stable_sort(tenants, {}, post);
  const std::vector<std::vector<std::size_t>> neighbours = find_neighbours(tenants);
  const Packing packing = Packer(tenants, neighbours).best();
  for (std::size_t i = 0; i < tenants.size(); ++i) places_.offset[at(tenants[i].slot)] = packing.offset[i];
  places_.bytes_of_rank[at(layout_.slot(tenants.front().slot).rank)] = packing.num_bytes;
}

SlotPlaces Placer::place(const std::vector<EarlyOpening>& early) {
  set_clocks();
  collect_users();
  for (const EarlyOpening& opening : early) places_.opener[at(opening.slot)] = opening.opener;
  std::vector<std::vector<Tenant>> tenants(at(plan_.ranks));
  for (SlotId slot = 0; slot < static_cast<SlotId>(wanted_.size()); ++slot)
    if (wanted_[at(slot)])
      tenants[at(layout_.slot(slot).rank)].push_back({slot, places_.opener[at(slot)], layout_.allocated_bytes(slot)});
  for (std::vector<Tenant>& of_rank : tenants) place_rank(std::move(of_rank));
  return std::move(places_);
}

}  // namespace

SlotPlaces place_slots(const Plan& plan, const MemoryLayout& layout, const std::vector<bool>& wanted,
                       const std::vector<EarlyOpening>& early) {
  return Placer(plan, layout, wanted).place(early);
}

std::vector<bool> used_slots(const Plan& plan, const MemoryLayout& layout) {
  std::vector<bool> used(layout.slots().size(), false);
  for (const Op& op : plan.ops) {
    const TouchedSlots touched = touched_slots(plan, layout, op);
    for (SlotId slot : touched.read) used[at(slot)] = true;
    for (SlotId slot : touched.written) used[at(slot)] = true;
  }
  return used;
}

std::vector<bool> shared_slots(const Plan& plan, const MemoryLayout& layout,
                               const std::function<bool(int rank, int other)>& share_memory,
                               const std::function<bool(int rank)>& of_rank) {
  std::vector<bool> shared(layout.slots().size(), false);
  const auto mark = [&](ValueId value, int rank) {
    for_each_base(plan, value, [&](ValueId base) {
      if (const SlotId slot = layout.value_slot(base, rank); slot != kNone) shared[at(slot)] = true;
    });
  };
  for (const Op& op : plan.ops) {
    const Post& post = plan.post_of(op);
    for (MessageId id : plan.messages_of(op)) {
      const Message& m = plan.messages[at(id)];
      if (m.src == m.dst || !share_memory(m.src, m.dst)) continue;
      const bool push = post.kind == PostKind::kPush;
      if (of_rank(push ? m.dst : m.src)) mark(push ? post.dst : post.src, push ? m.dst : m.src);
    }
  }
  return shared;
}

}  // namespace spscope
