// Strategy: turns a request into a plan. One file each (<name>.cpp), listed in strategies.def; the row alone enrols a
// strategy in the command line and the conformance tests.
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

// The choices of a strategy for a request, made from the masks known when planning (Request::known_mask), never from
// those that run. Of a plan one thing alone follows from the masks that run: which keys the rows of dsv fetch, since
// ranks know the mask of their own rows before they ask for keys. It holds indices, not sets, so that it outlives the
// request and can be kept for later denoise steps. Its degrees and groups are part of every result.
struct Decision {
  int ulysses = 1, ring = 1;
  Groups ulysses_groups, ring_groups;  // of ranks
  // How often a rank attends what comes round its ring: once, but in a torus for every pair of nodes.
  int rounds = 1;
  // The heads and blocks of each rank, ascending; empty: even cuts in order.
  std::vector<std::vector<std::int32_t>> heads;                     // by Ulysses index
  std::vector<std::vector<std::int32_t>> query_blocks, key_blocks;  // by ring index; as cut by block_slices()
  // A later denoise step keeps this decision while the imbalance ratio of the known masks under it (decision_imbalance)
  // is at most this; 0: every step decides anew.
  double keep_below = 0;
  friend bool operator==(const Decision&, const Decision&) = default;
};

struct Strategy {
  std::string_view name, summary;
  // The parameters it takes: type, range, default, unit, help.
  std::vector<Parameter> (*parameters)();
  // Parameter settings worth comparing for this request, legal ones only.
  std::vector<Parameters> (*candidates)(const Request&);
  // Why it cannot run this request with these parameters; empty when it can. Exact: verify() accepts what is legal.
  std::vector<Problem> (*legal)(const Request&, const Parameters&);
  // REQUIRES of the last two: legal() is empty; the decision was made by decide() of the same strategy, parameters and
  // shapes, for this denoise step or an earlier one.
  Decision (*decide)(const Request&, const Parameters&);
  void (*plan)(PlanBuilder&, const Request&, const Parameters&, const Decision&);
};

std::span<const Strategy> strategies();
// nullptr when the name is not known.
const Strategy* find_strategy(std::string_view name);

// The plan of a strategy that decides now. Throws Error with all problems when it is not legal for the request.
Plan make_plan(const Strategy& strategy, const Request& request, const Parameters& parameters);
// The plan of a decision that was made before. REQUIRES: legal() is empty.
Plan make_plan(const Strategy& strategy, const Request& request, const Parameters& parameters,
               const Decision& decision);

struct Degrees {
  int ulysses = 1, ring = 1;
  friend bool operator==(const Degrees&, const Degrees&) = default;
};
// Short name of a choice for tables: "usp u4 r2", with the parameters that differ from their defaults. Layers that
// decided differently are all named: "dbsp u8 / u4 r2".
std::string strategy_label(const Strategy& strategy, std::span<const Degrees> degrees, const Parameters& parameters);

// The request for `passes` of guidance at once: as many times the ranks, and the outputs of every pass. make_plan()
// makes its plan of that of one pass (plan/passes_at_once.h), for which it is decided. REQUIRES: a request of one pass.
Request request_at_once(const Request& pass, int passes);

// Fills request.outputs with what the plan `single` computes. Call once the masks and kernels are set.
void define_outputs(Request& request);

}  // namespace spscope
