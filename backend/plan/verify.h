// verify(): proves that a plan computes the requested layer in any legal order of its ops, and that its counts of
// tiles, FLOPs and bytes are true.
//
// It works on interned sets and ranges, never on tiles and never by running the plan. Shapes, masks, kernels, the terms
// of the outputs (Request::outputs) and their placement are taken from the request, never from the plan; an output must
// end where the input that it replaces came from (o as q of its layer, any other tensor as itself).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/plan/plan.h"
#include "backend/plan/request.h"

namespace spscope {

// Stored numbers: append only.
enum class Rule : std::uint8_t {
  kDangling = 0,   // a reference is out of range, or a set lies outside its axis
  kOrder = 1,      // ops are in post order, depend on earlier posts only, and start after their rank's compute before
  kUnmatched = 2,  // all of a group are in a two-sided post; each message belongs to its ends, in one post
  kDeadlock = 3,   // an op can never end (reported only together with kOrder or kUnmatched)
  kType = 4,       // shapes of the request; operands and results of each kind of op
  kBytes = 5,      // a message has the bytes of its box
  kTransfer = 6,   // each value is written by one call, and filled exactly according to its placement
  kReduce = 7,     // shares of a pending sum add up to the whole, each once
  kHolds = 8,      // an op reads what the rank holds
  kRace = 9,       // a read is ordered after its writers by lane, direct dependency or barrier
  kRows = 10,      // an accumulator meets its own rows only and is finished once, at the end
  kMask = 11,      // tiles and FLOPs are those of the mask that the request runs
  kCut = 12,       // no active tile is divided
  kTwice = 13,     // no row meets a key twice
  kMissing = 14,   // every row meets every active key
  kTerm = 15,      // values are what the layer computes (terms.h)
  kOutput = 16,    // outputs are finished, whole, and where they must be
};
inline constexpr int kNumRules = 17;
const char* rule_name(Rule rule);

struct PlanProblem {
  Rule rule;
  std::string text;  // what is wrong, with the ids of the plan at fault
};

// At most this many problems are reported for each rule.
inline constexpr int kMaxProblemsPerRule = 32;

// Empty when the plan is correct. A later phase (structure; progress; operands, transfers and reads; attention and
// outputs) runs only when the earlier ones found nothing, since it relies on them. Accepts any plan, however damaged,
// and does not throw. Fills memo tables of the request's sets and masks.
std::vector<PlanProblem> verify(const Plan& plan, const Request& request);

// The part of verify() that needs no request, for plans from a file. A plan without problems can be read without
// leaving its arrays, without endless loops and without overflow, and every op of it can end. It may still compute a
// wrong result.
std::vector<PlanProblem> check_form(const Plan& plan);

}  // namespace spscope
