// Damage to plans: by name, each with the rule that must find it, and blindly, one field at a time.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "backend/base/rng.h"
#include "backend/plan/verify.h"
#include "tests/support/editable_plan.h"
#include "tests/support/plan_library.h"

namespace spscope::testing {

struct Corruption {
  std::string plan;  // of mutation_cases()
  std::string name;
  Rule rule;     // one that must fire
  bool harmful;  // whether it changes numbers, bytes that travel, or progress; else the plan only lies
  void (*apply)(EditablePlan&, const Request&);
};
const std::vector<Corruption>& corruptions();
// How a failing test names it.
void PrintTo(const Corruption& corruption, std::ostream* out);

// The plans that are damaged: small, and between them with every kind of op.
const std::vector<PlanCase>& mutation_cases();

// Changes one field of the plan to another value, or to nonsense, and says which, as "op.rank" or "value.layer". Empty
// when the field that was drawn cannot change in this plan.
std::string mutate(EditablePlan& plan, const Request& request, Rng& rng);

// Sets tiles and FLOPs of an attend to what the mask says of its sets, so that only the sets are wrong. False when the
// mask cannot count them.
bool recount(const EditablePlan& plan, const Request& request, EditableOp& op);

}  // namespace spscope::testing
