// Terms: what each value of a plan is, whoever holds it.
//
// A term is a hash of how a value comes about: inputs by tensors and layer, local kernels by name and operands,
// attention by axis, queries and keys; moves, views and sums of shares keep it. Two plans compute the same when their
// outputs have equal terms and verify() found both whole: which rows meet which keys is not part of a term.
#pragma once

#include <string>
#include <vector>

#include "backend/plan/plan.h"
#include "backend/plan/request.h"

namespace spscope {

// Two things where a plan may have one: the calls that make a value, the keys of an accumulator, the sources of a view.
struct TermClash {
  std::string text;
};

// REQUIRES: every reference of the plan is in range, and no source of a view is a view.
class Terms {
 public:
  explicit Terms(const Plan& plan);
  // 0 while nothing makes the value.
  Term of(ValueId value) const;
  const std::vector<TermClash>& clashes() const { return clashes_; }

 private:
  void add_post(PostId id);
  void add_keys(PostId id, AccId acc, Term keys);
  void make(PostId id, ValueId value, Term term);
  void check_views();

  const Plan& plan_;
  std::vector<Term> terms_;  // by value; 0 for views
  std::vector<Term> keys_;   // by accumulator; 0 while it has met none
  std::vector<TermClash> clashes_;
};

// What each output of a plan is. On the plan of the strategy `single` this defines the layer (Request::outputs).
std::vector<ExpectedOutput> outputs_of(const Plan& plan);

}  // namespace spscope
