// How a plan fares against the whole layer on one rank, run in several orders: the judge of the builder, of verify()
// and of the strategies. PlanBuilder makes that layer and PlanRun computes it, as both do with the plan, so a mistake
// that the two have in common shows only where runs are compared with a reference that has no plan: in conformance_test
// and execute_test.
#pragma once

#include <string>
#include <vector>

#include "tests/support/plan_executor.h"
#include "tests/support/plan_library.h"

namespace spscope::testing {

enum class Outcome { kOk, kWrong, kBytes, kDeadlock, kFault };
inline constexpr int kNumOutcomes = 5;
const char* outcome_name(Outcome outcome);

struct Judgement {
  Outcome outcome = Outcome::kOk;
  std::vector<std::int64_t> peak_bytes;  // by rank, over all orders
  std::string reason;
};

class PlanJudge {
 public:
  // `request` must outlive the judge.
  PlanJudge(const Request& request, LayerKind kind);
  PlanJudge(const PlanJudge&) = delete;
  // Wrong: an input that is not given whole, or an output that a rank must hold, or that the plan promises, is absent
  // or another one. Bytes: ranks sent other bytes than the messages say. Fault: an op cannot be done, or references
  // cannot be followed. The first order that is not ok ends the judgement.
  Judgement judge(const Plan& plan, int orders) const;

 private:
  Outcome check_order(const Plan& plan, std::uint64_t seed, Judgement& judgement) const;
  bool output_right(const Plan& plan, const PlanRun& run, std::size_t output) const;

  const Request& request_;
  const Plan layer_;  // on one rank
  PlanRun wanted_;
};

}  // namespace spscope::testing
