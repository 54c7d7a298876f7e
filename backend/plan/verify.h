// verify(): does a plan compute the layer that was asked for, on any legal order of its ops, and say so truthfully?
//
// It works on interned sets and ranges, never on tiles and never by running the plan. From the request, never from the
// plan, it takes shapes, masks, kernels, the whole output tensors, what each output is (Request::outputs) and where it
// must end up: where the input that it replaces came from (o as q of its layer, any other tensor as itself).
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
  kDeadlock = 3,   // an op can never end (told only with the order or match that it breaks)
  kType = 4,       // shapes of the request; operands and results that a kind of op has
  kBytes = 5,      // a message has the bytes of its box
  kTransfer = 6,   // each value is made by one call, and filled exactly as its placement says
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

// At most this many problems are told of each rule.
inline constexpr int kMaxProblemsPerRule = 32;

// Empty: the plan is right. Problems of a later phase (structure; progress; operands, transfers and reads; attention
// and outputs) are told only when the earlier phases found none, since they rest on them. Takes any plan, however
// damaged, and does not throw. Fills memo tables of the request's sets and masks.
std::vector<PlanProblem> verify(const Plan& plan, const Request& request);

// The part of it that needs no request, for plans that come from a file: no reader of such a plan leaves its arrays,
// goes on without end or overflows, and every op of it can end. What it computes may still be wrong.
std::vector<PlanProblem> check_form(const Plan& plan);

}  // namespace spscope
