// Strategy: turns a request into a plan. One file each (<name>.cpp), listed in strategies.def; the row alone enrols a
// strategy in the command line, the desktop app and the conformance tests.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/base/error.h"
#include "backend/base/parameter.h"
#include "backend/plan/plan_builder.h"
#include "backend/plan/request.h"

namespace spscope {

// What the degrees of a strategy came out as for a request: shown in every result, so that nobody has to guess.
struct Resolved {
  int ulysses = 1, ring = 1;
  Groups ulysses_groups, ring_groups;  // of ranks
};

struct Strategy {
  std::string_view name, summary;
  // The parameters it takes: type, range, default, unit, help.
  std::vector<Parameter> (*parameters)();
  // Parameter settings worth comparing for this request, legal ones only.
  std::vector<Parameters> (*candidates)(const Request&);
  // Why it cannot run this request with these parameters; empty when it can. Exact: verify() accepts what is legal.
  std::vector<Problem> (*legal)(const Request&, const Parameters&);
  // REQUIRES of the last two: legal() is empty.
  Resolved (*resolve)(const Request&, const Parameters&);
  void (*plan)(PlanBuilder&, const Request&, const Parameters&);
};

std::span<const Strategy> strategies();
// nullptr when the name is not known.
const Strategy* find_strategy(std::string_view name);

// The plan of a strategy. Throws Error with all problems when it is not legal for the request.
Plan make_plan(const Strategy& strategy, const Request& request, const Parameters& parameters);

// Short name of a choice for tables: "usp u4 r2", with the parameters that differ from their defaults.
std::string strategy_label(const Strategy& strategy, const Request& request, const Parameters& parameters);

// Fills request.outputs with what the plan `single` computes. Call once the masks and kernels are set.
void define_outputs(Request& request);

}  // namespace spscope
