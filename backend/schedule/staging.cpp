#include "backend/schedule/staging.h"

#include <algorithm>

#include "backend/base/ids.h"
#include "backend/plan/plan_access.h"

namespace spscope {
namespace {

// Whether no element of `whole` lies between two of `part`. REQUIRES: part is within whole.
bool consecutive(SetTable& sets, SetId part, SetId whole) {
  const std::span<const Span> spans = sets.spans(part);
  const SetId reach = sets.span(spans.front().begin, spans.back().end);
  return sets.size(sets.both(whole, reach)) == sets.size(part);
}

// Whether `part` is one run of the elements of `whole`, which lie as [outer][inner][columns].
bool is_run(SetTable& sets, const Box& part, const Box& whole) {
  if (part.columns != whole.columns || !sets.within(part.outer, whole.outer) || !sets.within(part.inner, whole.inner))
    return false;
  if (part.inner == whole.inner) return consecutive(sets, part.outer, whole.outer);
  return sets.size(part.outer) == 1 && consecutive(sets, part.inner, whole.inner);
}

bool is_run_of(const Plan& plan, const Box& part, ValueId value, int rank) {
  bool run = false;
  for_each_base(plan, value, [&](ValueId base) {
    for (const Box& box : plan.values[at(base)].placement.at(rank)) run = run || is_run(*plan.sets, part, box);
  });
  return run;
}

std::int64_t staged(const Plan& plan, const Op& op) {
  const Post& post = plan.post_of(op);
  std::int64_t bytes = 0;
  for (const MessageId id : plan.messages_of(op)) {
    const Message& m = plan.messages[at(id)];
    if (m.src == m.dst) continue;
    const bool sends = m.src == op.rank;
    const bool in_place = sends                              ? is_run_of(plan, m.box, post.src, op.rank)
                          : post.kind == PostKind::kExchange ? is_run_of(plan, m.box, post.dst, op.rank)
                                                             : false;
    if (!in_place) bytes += m.bytes;
  }
  return bytes;
}

}  // namespace

std::vector<std::int64_t> staging_bytes(const Plan& plan) {
  std::vector<std::int64_t> largest(at(plan.ranks) * at(plan.lanes)), sum(at(plan.ranks));
  for (const Op& op : plan.ops) {
    const Post& post = plan.post_of(op);
    if (post.kind != PostKind::kExchange && post.kind != PostKind::kReduce) continue;
    std::int64_t& most = largest[at(op.rank) * at(plan.lanes) + at(post.lane)];
    most = std::max(most, staged(plan, op));
  }
  for (std::size_t i = 0; i < largest.size(); ++i) sum[i / at(plan.lanes)] += largest[i];
  return sum;
}

}  // namespace spscope
