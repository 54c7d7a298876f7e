#include "backend/plan/verify.h"

#include "backend/base/stop_point.h"
#include "backend/plan/verify_internal.h"

namespace spscope {
namespace verifying {

// Counts become ends of the lists before, so that put() can move each to the end of its own list.
void IdLists::open() {
  std::int32_t begin = 0;
  for (std::int32_t& next : next_) begin += std::exchange(next, begin);
  ids_.resize(static_cast<std::size_t>(begin));
}

template <typename Visit>
void PlanIndex::for_each_list(const Plan& plan, OpId id, Visit&& visit) {
  const Op& op = plan.ops[at(id)];
  const Post& post = plan.post_of(op);
  visit(of_post_, at(op.post), id);
  visit(of_lane_, lane_slot(op.rank, post.lane), id);
  for_each_written_rank(plan, op, [&](int rank) { visit(makers_, slot(post.dst, rank), id); });
  if (post.acc != kNone) visit(uses_, slot(post.acc, op.rank), id);
  if (post.kind == PostKind::kBarrier) visit(barriers_, at(op.rank), id);
  for (MessageId message : plan.messages_of(op)) visit(ends_, at(message), id);
}

PlanIndex::PlanIndex(const Plan& plan)
    : ranks_(plan.ranks),
      lanes_(plan.lanes),
      of_post_(plan.posts.size()),
      of_lane_(at(plan.ranks) * at(plan.lanes)),
      makers_(plan.values.size() * at(plan.ranks)),
      uses_(plan.accumulators.size() * at(plan.ranks)),
      barriers_(at(plan.ranks)),
      ends_(plan.messages.size()),
      lane_position_(plan.ops.size()),
      members_(plan.groups.size() * at(plan.ranks), false) {
  const auto num_ops = static_cast<OpId>(plan.ops.size());
  for (OpId op = 0; op < num_ops; ++op, stop_point())
    for_each_list(plan, op, [](IdLists& list, std::size_t key, OpId) { list.reserve(key); });
  for (IdLists* list : {&of_post_, &of_lane_, &makers_, &uses_, &barriers_, &ends_}) list->open();
  for (OpId op = 0; op < num_ops; ++op, stop_point())
    for_each_list(plan, op, [](IdLists& list, std::size_t key, OpId id) { list.put(key, id); });
  std::vector<std::int32_t> length(at(ranks_) * at(lanes_), 0);
  for (OpId op = 0; op < num_ops; ++op, stop_point())
    lane_position_[at(op)] = length[lane_slot(plan.ops[at(op)].rank, plan.post_of(plan.ops[at(op)]).lane)]++;
  for (GroupId group = 0; group < static_cast<GroupId>(plan.groups.size()); ++group)
    for (int rank : plan.group(group)) members_[slot(group, rank)] = true;
}

namespace {

std::vector<PlanProblem> problems_of(const Plan& plan, const Request& request) {
  Findings found;
  check_structure(plan, request, found);
  if (!found.empty()) return found.take();
  const PlanIndex index(plan);
  const Context c{plan, request, index, *plan.sets};
  check_progress(c, found);
  if (!found.empty()) return found.take();
  check_types(c, found);
  check_transfers(c, found);
  check_reads(c, found);
  if (!found.empty()) return found.take();
  check_attends(c, found);
  if (!found.empty()) return found.take();
  check_coverage(c, found);
  check_outputs(c, found);
  check_program_order(c, found);
  return found.take();
}

}  // namespace
}  // namespace verifying

const char* rule_name(Rule rule) {
  static constexpr const char* names[kNumRules] = {"dangling", "order",  "unmatched", "deadlock", "type",  "bytes",
                                                   "transfer", "reduce", "holds",     "race",     "rows",  "mask",
                                                   "cut",      "twice",  "missing",   "term",     "output"};
  return names[static_cast<int>(rule)];
}

std::vector<PlanProblem> check_form(const Plan& plan) {
  verifying::Findings found;
  verifying::check_form(plan, found);
  if (found.empty()) verifying::check_certificate(plan, verifying::PlanIndex(plan), found);
  return found.take();
}

std::vector<PlanProblem> verify(const Plan& plan, const Request& request) {
  return verifying::problems_of(plan, request);
}

}  // namespace spscope
