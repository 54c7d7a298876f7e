// The reads and writes of an op, defined here and nowhere else. Visitors get (rank, value, box).
//
// A rank in a read or fill may differ from the op's own: a pull reads the sender's memory, a push fills the receiver's.
// Barriers read and write nothing. Attends and merges also update their accumulator, and finish closes it; accumulators
// are private to a rank and ordered by its compute lane.
#pragma once

#include <algorithm>

#include "backend/plan/plan.h"

namespace spscope {

// Rows and keys of an attend as boxes: along the attended axis the op's q or k, along the other its sequences.
inline Box attend_rows(const Plan& plan, const Op& op) {
  const bool inner = plan.accumulators[static_cast<std::size_t>(plan.post_of(op).acc)].axis == AttendedAxis::kInner;
  return inner ? Box{op.heads, op.seq, op.q} : Box{op.heads, op.q, op.seq};
}
inline Box attend_keys(const Plan& plan, const Op& op) {
  const bool inner = plan.accumulators[static_cast<std::size_t>(plan.post_of(op).acc)].axis == AttendedAxis::kInner;
  return inner ? Box{op.heads, op.seq, op.k} : Box{op.heads, op.k, op.seq};
}

// The value whose box a message carries: of a reduce, a rank's own share is that of its operand, where it has one.
inline ValueId source_of(const Plan& plan, const Post& post, const Message& message) {
  const bool own = post.kind == PostKind::kReduce && !post.operands.empty() && message.src == message.dst;
  return own ? plan.value_list(post.operands).front() : post.src;
}

template <typename Visit>
void for_each_read(const Plan& plan, const Op& op, Visit&& visit) {
  const Post& post = plan.post_of(op);
  const auto value = [&](ValueId id) -> const Value& { return plan.values[static_cast<std::size_t>(id)]; };
  const auto all_of = [&](ValueId id) {
    for (const Box& box : value(id).placement.at(op.rank)) visit(op.rank, id, box);
  };
  switch (post.kind) {
    case PostKind::kLocal:
      all_of(post.src);
      for (ValueId id : plan.value_list(post.operands)) all_of(id);
      break;
    case PostKind::kAttend:
      visit(op.rank, plan.accumulators[static_cast<std::size_t>(post.acc)].q, attend_rows(plan, op));
      visit(op.rank, post.src, attend_keys(plan, op));
      break;
    case PostKind::kMerge: {
      const Value& q = value(plan.accumulators[static_cast<std::size_t>(post.acc)].q);
      for (const Box& part : value(post.src).placement.at(op.rank))
        for (const Box& rows : q.placement.at(op.rank))
          if (const auto m = meet(*plan.sets, part, rows)) visit(op.rank, post.src, *m);
      break;
    }
    case PostKind::kFinish:
      all_of(plan.accumulators[static_cast<std::size_t>(post.acc)].q);
      break;
    case PostKind::kCopy:
    case PostKind::kExchange:
    case PostKind::kPull:
    case PostKind::kPush:
    case PostKind::kReduce:
      for (MessageId id : plan.messages_of(op)) {
        const Message& m = plan.messages[static_cast<std::size_t>(id)];
        const bool starts = post.kind == PostKind::kPull ? m.dst == op.rank : m.src == op.rank;
        if (starts) visit(m.src, source_of(plan, post, m), m.box);
      }
      break;
    case PostKind::kBarrier:
      break;
  }
}

// Boxes that data movement writes. Local kernels and finishes write the whole placement of their result at their rank.
template <typename Visit>
void for_each_fill(const Plan& plan, const Op& op, Visit&& visit) {
  const Post& post = plan.post_of(op);
  for (MessageId id : plan.messages_of(op)) {
    const Message& m = plan.messages[static_cast<std::size_t>(id)];
    const bool ends = post.kind == PostKind::kExchange || post.kind == PostKind::kReduce ? m.dst == op.rank : true;
    if (ends) visit(m.dst, post.dst, m.box);
  }
}

// Ranks at which an op writes its result, each once, ascending; nothing for ops without one.
template <typename Visit>
void for_each_written_rank(const Plan& plan, const Op& op, Visit&& visit) {
  const Post& post = plan.post_of(op);
  if (post.dst == kNone) return;
  if (!moves(post.kind)) return visit(op.rank);
  std::vector<int> ranks;
  for_each_fill(plan, op, [&](int rank, ValueId, const Box&) {
    if (ranks.empty() || ranks.back() != rank) ranks.push_back(rank);
  });
  std::ranges::sort(ranks);
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  for (int rank : ranks) visit(rank);
}

// visit(value) for each value that holds the data of `id`: itself, or the bases of a view's sources.
template <typename Visit>
void for_each_base(const Plan& plan, ValueId id, Visit&& visit) {
  const Value& value = plan.values[static_cast<std::size_t>(id)];
  if (value.sources.empty()) return visit(id);
  for (ValueId source : plan.value_list(value.sources)) for_each_base(plan, source, visit);
}

}  // namespace spscope
