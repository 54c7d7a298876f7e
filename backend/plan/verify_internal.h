// Shared by the files of verify(): the problems found, indices of the plan by rank, lane, value and accumulator, and
// one function for each group of rules.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "backend/base/ids.h"
#include "backend/plan/plan_access.h"
#include "backend/plan/verify.h"

namespace spscope::verifying {

class Findings {
 public:
  void add(Rule rule, std::string text) {
    if (++counts_[static_cast<int>(rule)] <= kMaxProblemsPerRule) problems_.push_back({rule, std::move(text)});
  }
  bool empty() const { return problems_.empty(); }
  std::vector<PlanProblem> take() { return std::move(problems_); }

 private:
  int counts_[kNumRules] = {};
  std::vector<PlanProblem> problems_;
};

// Lists of ids by key in two flat arrays: reserve() every entry, then open(), then put() every entry in order.
class IdLists {
 public:
  explicit IdLists(std::size_t keys) : next_(keys + 1, 0) {}
  void reserve(std::size_t key) { ++next_[key]; }
  void open();
  void put(std::size_t key, std::int32_t id) { ids_[static_cast<std::size_t>(next_[key]++)] = id; }
  std::span<const std::int32_t> of(std::size_t key) const {
    // After the last put, next_[key] is where the list of `key` ends.
    const auto begin = static_cast<std::size_t>(key == 0 ? 0 : next_[key - 1]);
    return {ids_.data() + begin, static_cast<std::size_t>(next_[key]) - begin};
  }

 private:
  std::vector<std::int32_t> next_, ids_;
};

// The plan by post, lane, value and accumulator. REQUIRES: check_form() found nothing.
class PlanIndex {
 public:
  explicit PlanIndex(const Plan& plan);

  std::span<const OpId> ops_of_post(PostId post) const { return of_post_.of(at(post)); }
  std::span<const OpId> ops_of_lane(int rank, int lane) const { return of_lane_.of(lane_slot(rank, lane)); }
  // Position of an op on its lane.
  int lane_position(OpId op) const { return lane_position_[at(op)]; }
  // Ops that write the value at the rank.
  std::span<const OpId> makers(ValueId value, int rank) const { return makers_.of(slot(value, rank)); }
  // Attends, merges and finishes of the accumulator at the rank.
  std::span<const OpId> uses(AccId acc, int rank) const { return uses_.of(slot(acc, rank)); }
  std::span<const OpId> barriers(int rank) const { return barriers_.of(at(rank)); }
  // Ops that list the message.
  std::span<const OpId> ends(MessageId message) const { return ends_.of(at(message)); }
  bool member(GroupId group, int rank) const { return members_[slot(group, rank)]; }

 private:
  std::size_t slot(std::int32_t id, int rank) const { return at(id) * at(ranks_) + at(rank); }
  std::size_t lane_slot(int rank, int lane) const { return at(rank) * at(lanes_) + at(lane); }
  // visit(list, key, op) for every list that the op belongs to.
  template <typename Visit>
  void for_each_list(const Plan& plan, OpId op, Visit&& visit);

  int ranks_, lanes_;
  IdLists of_post_, of_lane_, makers_, uses_, barriers_, ends_;
  std::vector<std::int32_t> lane_position_;
  std::vector<bool> members_;
};

struct Context {
  const Plan& plan;
  const Request& request;
  const PlanIndex& index;
  SetTable& sets;

  const Value& value(ValueId id) const { return plan.values[at(id)]; }
  const Accumulator& accumulator(AccId id) const { return plan.accumulators[at(id)]; }
  SetId all_columns(Axis axis) const { return sets.span(0, plan.num_columns[static_cast<int>(axis)]); }
  MaskCounter& mask_of(const Accumulator& acc) const {
    return request.executed_mask(acc.axis).refined(plan.masks[at(acc.mask)].slices);
  }
};

// Phase 1: every id, set and shape is valid, in itself (form) and against the request (structure).
void check_form(const Plan& plan, Findings& found);
void check_structure(const Plan& plan, const Request& request, Findings& found);
// Phase 2: order and unmatched, which prove that every op ends; and deadlock, where they do not.
void check_certificate(const Plan& plan, const PlanIndex& index, Findings& found);
void check_progress(const Context& c, Findings& found);
// Phase 3: type and shares of sums; bytes, transfer and reduce; holds and race.
void check_types(const Context& c, Findings& found);
void check_transfers(const Context& c, Findings& found);
void check_reads(const Context& c, Findings& found);
// Phase 4: rows, mask, cut. Phase 5: twice and missing; term and output; order of each rank's program.
void check_attends(const Context& c, Findings& found);
void check_coverage(const Context& c, Findings& found);
void check_outputs(const Context& c, Findings& found);
void check_program_order(const Context& c, Findings& found);

}  // namespace spscope::verifying
