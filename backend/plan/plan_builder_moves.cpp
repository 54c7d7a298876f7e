// Communication of PlanBuilder: one routine derives the messages of any move from two placements.
#include <algorithm>

#include <fmt/format.h>

#include "backend/base/check.h"
#include "backend/base/error.h"
#include "backend/base/ids.h"
#include "backend/plan/plan_builder.h"

namespace spscope {
namespace {

std::uint64_t box_hash(const Box& box) {
  return hash_mix(hash_mix(static_cast<std::uint64_t>(box.columns), static_cast<std::uint64_t>(box.outer)),
                  static_cast<std::uint64_t>(box.inner));
}

// Finds the members of a group that hold exactly a given box: the usual case, in which no box has to be cut.
class Holders {
 public:
  Holders(const Placement& placement, const std::vector<int>& group) : placement_(placement), group_(group) {
    for (std::size_t j = group.size(); j-- > 0;)
      for (const Box& box : placement.at(group[j])) {
        std::int32_t& head = first_.insert(box_hash(box), -1);
        entries_.push_back({static_cast<std::int32_t>(j), head});
        head = static_cast<std::int32_t>(entries_.size()) - 1;
      }
  }
  // Positions in the group of all holders, ascending.
  std::vector<std::size_t> all(const Box& box) const {
    std::vector<std::size_t> positions;
    const std::int32_t* head = first_.find(box_hash(box));
    for (std::int32_t e = head ? *head : -1; e >= 0; e = entries_[at(e)].next) {
      const auto j = static_cast<std::size_t>(entries_[at(e)].position);
      if (std::ranges::find(placement_.at(group_[j]), box) != placement_.at(group_[j]).end()) positions.push_back(j);
    }
    std::ranges::sort(positions);
    positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
    return positions;
  }
  // Position in the group of the first holder at or after `position`, cyclically; -1 when no member holds the box.
  int nearest(const Box& box, std::size_t position) const {
    int best = -1;
    std::size_t best_distance = 0;
    const std::int32_t* head = first_.find(box_hash(box));
    for (std::int32_t e = head ? *head : -1; e >= 0; e = entries_[at(e)].next) {
      const auto j = static_cast<std::size_t>(entries_[at(e)].position);
      const std::size_t distance = (j + group_.size() - position) % group_.size();
      if (best >= 0 && distance >= best_distance) continue;
      if (std::ranges::find(placement_.at(group_[j]), box) == placement_.at(group_[j]).end()) continue;
      best = static_cast<int>(j);
      best_distance = distance;
    }
    return best;
  }

 private:
  struct Entry {
    std::int32_t position, next;
  };
  const Placement& placement_;
  const std::vector<int>& group_;
  FlatMap<std::int32_t> first_;
  std::vector<Entry> entries_;
};

}  // namespace

// The rank itself first, then the next holder in group order, each giving what the ones before could not.
void PlanBuilder::route_box(const Value& value, const Box& want, std::size_t position, const std::vector<int>& group,
                            std::vector<Line>& lines) {
  BoxList rest = {want}, next;
  const int dst = group[position];
  for (std::size_t step = 0; step < group.size() && !rest.empty(); ++step) {
    const int src = group[(position + step) % group.size()];
    for (const Box& held : value.placement.at(src)) {
      next.clear();
      for (const Box& part : rest) {
        if (const auto m = meet(sets(), part, held)) lines.push_back({src, dst, *m});
        subtract(sets(), part, held, next);
      }
      rest.swap(next);
    }
  }
  if (!rest.empty())
    throw Error(ErrorCode::kPlanNotHeld,
                fmt::format("the group of rank {} does not hold all that it is to receive of {}", dst,
                            tensor_set_name(value.tensors)));
}

void PlanBuilder::route(const Value& value, const Placement& placement, const std::vector<int>& group,
                        std::vector<Line>& lines) {
  const Holders holders(value.placement, group);
  for (std::size_t j = 0; j < group.size(); ++j)
    for (const Box& want : placement.at(group[j])) {
      const int holder = holders.nearest(want, j);
      if (holder >= 0)
        lines.push_back({group[at(holder)], group[j], want});
      else
        route_box(value, want, j, group, lines);
    }
}

// The shares of each part in group order; `but_own`: that of the rank itself comes from elsewhere, and first.
void PlanBuilder::add_shares(const Value& value, const Placement& parts, const std::vector<int>& group, bool but_own,
                             std::vector<Line>& lines) {
  const Holders holders(value.placement, group);
  for (const int dst : group)
    for (const Box& part : parts.at(dst)) {
      if (but_own) lines.push_back({dst, dst, part});
      const std::vector<std::size_t> exact = holders.all(part);
      for (const std::size_t position : exact)
        if (!but_own || group[position] != dst) lines.push_back({group[position], dst, part});
      if (!exact.empty()) continue;
      for (const int src : group)
        if ((!but_own || src != dst) && covered(sets(), part, value.placement.at(src)))
          lines.push_back({src, dst, part});
    }
}

// Ops of one group for one post, with their messages. Two-sided messages belong to both ends, one-sided ones to the
// rank that starts them, local copies to their rank.
void PlanBuilder::record_move(PostId post_id, const std::vector<int>& group, std::span<const Line> lines, bool wire) {
  const Post post = plan_.posts[at(post_id)];
  const std::int64_t cell = plan_.cell_bytes(plan_.values[at(post.src)]);
  std::vector<std::vector<MessageId>>& of_rank = scratch_messages_;
  if (of_rank.size() < at(plan_.ranks)) of_rank.resize(at(plan_.ranks));
  for (int rank : group) of_rank[at(rank)].clear();
  for (const Line& line : lines) {
    const auto id = static_cast<MessageId>(plan_.messages.size());
    const std::int64_t bytes = line.src == line.dst ? 0 : volume(sets(), line.box) * cell;
    plan_.messages.push_back({line.src, line.dst, line.box, bytes});
    if (wire && post.kind != PostKind::kPull) of_rank[at(line.src)].push_back(id);
    const bool also_receiver = post.kind != PostKind::kPush && (line.src != line.dst || post.kind == PostKind::kPull);
    if (!wire || also_receiver) of_rank[at(line.dst)].push_back(id);
  }
  const auto first = static_cast<OpId>(plan_.ops.size());
  const GroupId wire_group = wire ? group_id(group) : kNone;
  for (int rank : group)
    if (wire || !of_rank[at(rank)].empty()) plan_.ops[at(add_op(post_id, rank))].group = wire_group;
  for (OpId op = first; op < static_cast<OpId>(plan_.ops.size()); ++op)
    finish_op(op, of_rank[at(plan_.ops[at(op)].rank)]);
}

// Of one group: every rank with a message to another sends all it holds to every rank with one from another, but
// itself, and these keep all they hold.
bool PlanBuilder::gathers(const Value& from, const Value& to, const std::vector<Line>& lines) {
  std::vector<int> senders, receivers;
  for (const Line& line : lines) {
    if (line.src == line.dst) continue;
    senders.push_back(line.src);
    receivers.push_back(line.dst);
  }
  for (std::vector<int>* ranks : {&senders, &receivers}) {
    std::ranges::sort(*ranks);
    ranks->erase(std::unique(ranks->begin(), ranks->end()), ranks->end());
  }
  std::int64_t sent = 0, expected = 0;
  for (const Line& line : lines)
    if (line.src != line.dst) sent += volume(sets(), line.box);
  for (int rank : senders) {
    const bool receives = std::ranges::binary_search(receivers, rank);
    expected += volume(sets(), from.placement.at(rank)) * (std::ssize(receivers) - (receives ? 1 : 0));
  }
  const auto keeps = [&](int rank) {
    return std::ranges::all_of(from.placement.at(rank),
                               [&](const Box& box) { return covered(sets(), box, to.placement.at(rank)); });
  };
  return sent == expected && std::ranges::all_of(receivers, keeps);
}

Move PlanBuilder::move(MoveKind move_kind, ValueId value_id, Placement placement, const Groups& given_groups,
                       int lane) {
  const PostKind kind = move_kind.post;
  const Groups& groups = given_groups.empty() ? everyone_ : given_groups;
  SPSCOPE_CHECK(lane > 0);
  SPSCOPE_CHECK(plan_.values[at(value_id)].pending.empty() == (kind != PostKind::kReduce));
  Value moved = plan_.values[at(value_id)];
  moved.placement = std::move(placement);
  moved.given = false;
  moved.pending = move_kind.last ? IdRange{} : copy_pending(moved);
  moved.sources = {};
  const ValueId id = add_value(std::move(moved));
  std::vector<std::vector<Line>> lines(groups.size());
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (kind != PostKind::kReduce) {
      route(plan_.values[at(value_id)], plan_.values[at(id)].placement, groups[g], lines[g]);
      continue;
    }
    add_shares(plan_.values[at(value_id)], plan_.values[at(id)].placement, groups[g], move_kind.own != kNone, lines[g]);
  }
  const auto wired = [kind](const std::vector<Line>& list) {
    return kind == PostKind::kReduce ||
           std::ranges::any_of(list, [](const Line& line) { return line.src != line.dst; });
  };
  const auto is_gather = [&](std::size_t g) {
    return !wired(lines[g]) || gathers(plan_.values[at(value_id)], plan_.values[at(id)], lines[g]);
  };
  for (const bool wire : {false, true}) {  // groups that only rearrange locally make a copy, the others a transfer
    PostId post_id = kNone;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      if (lines[g].empty() || wired(lines[g]) != wire) continue;
      if (post_id == kNone) {
        Post post;
        post.kind = wire ? kind : PostKind::kCopy;
        post.lane = wire ? lane : 0;
        post.src = value_id;
        post.dst = id;
        post.balances = move_kind.balances;
        post.by_index = wire && move_kind.by_index;
        if (move_kind.own != kNone) post.operands = add_value_refs({&move_kind.own, 1});
        if (move_kind.part) {
          post.collective = move_kind.part->collective;
          post.collective_steps = move_kind.part->steps;
        } else if (wire && (kind == PostKind::kPull || kind == PostKind::kPush)) {
          post.collective = Collective::kOneSided;
        } else if (wire && kind == PostKind::kExchange) {
          bool all = true;
          for (std::size_t other = 0; other < groups.size() && all; ++other) all = is_gather(other);
          post.collective = all ? Collective::kAllGather : Collective::kAllToAll;
        }
        post_id = add_post(post);
      }
      record_move(post_id, groups[g], lines[g], wire);
    }
  }
  return {id};
}

Move PlanBuilder::exchange(ValueId value, Placement placement, const Groups& groups, int lane,
                           std::optional<CollectivePart> part) {
  return move({.post = PostKind::kExchange, .part = part}, value, std::move(placement), groups, lane);
}
Move PlanBuilder::pull(ValueId value, Placement placement, const Groups& groups, int lane) {
  return move({.post = PostKind::kPull}, value, std::move(placement), groups, lane);
}
Move PlanBuilder::push(ValueId value, Placement placement, const Groups& groups, int lane) {
  return move({.post = PostKind::kPush}, value, std::move(placement), groups, lane);
}
Move PlanBuilder::reduce(ValueId value, Placement placement, const Groups& groups, int lane, CollectivePart part) {
  return move({.post = PostKind::kReduce, .part = part}, value, std::move(placement), groups, lane);
}
Move PlanBuilder::reduce_onto(ValueId own, ValueId value, Placement placement, const Groups& groups, int lane,
                              CollectivePart part, bool last) {
  return move({.post = PostKind::kReduce, .last = last, .own = own, .part = part}, value, std::move(placement), groups,
              lane);
}

void PlanBuilder::barrier(const Groups& given_groups, int lane) {
  Post post;
  post.kind = PostKind::kBarrier;
  post.lane = lane;
  const PostId post_id = add_post(post);
  for (const std::vector<int>& group : given_groups.empty() ? everyone_ : given_groups) {
    Barrier barrier{post_id, std::vector<OpId>(at(plan_.ranks), kNone)};
    const auto first = static_cast<OpId>(plan_.ops.size());
    const GroupId id = group_id(group);
    for (int rank : group) plan_.ops[at(add_op(post_id, rank))].group = id;
    for (OpId op = first; op < static_cast<OpId>(plan_.ops.size()); ++op) {
      finish_op(op);
      barrier.op_of_rank[at(plan_.ops[at(op)].rank)] = op;
    }
    barriers_.push_back(std::move(barrier));
  }
}

ValueId PlanBuilder::reshard(ValueId value, Placement placement, const Groups& groups, int lane) {
  SPSCOPE_CHECK(plan_.values[at(value)].pending.empty());
  if (placement_of(value) == placement) return value;
  return wait(exchange(value, std::move(placement), groups, lane));
}

ValueId PlanBuilder::rebalance(ValueId value, Placement placement, const Groups& groups, int lane) {
  return wait(move({.post = PostKind::kExchange, .balances = true}, value, std::move(placement), groups, lane));
}

Move PlanBuilder::exchange_by_index(ValueId value, Placement placement, const Groups& groups, int lane) {
  return move({.post = PostKind::kExchange, .by_index = true}, value, std::move(placement), groups, lane);
}

Move PlanBuilder::shift(ValueId value, const Groups& rings, int by, int lane) {
  return exchange(value, placement_of(value).rotate(rings, by), rings, lane, CollectivePart{Collective::kPointToPoint});
}

}  // namespace spscope
