// How a plan fares against the dense layer, run in several orders: the judge of the builder, of verify() and of the
// strategies.
#pragma once

#include <string>
#include <vector>

#include "tests/support/plan_executor.h"

namespace spscope::testing {

enum class Outcome { kOk, kWrong, kBytes, kDeadlock, kFault };
inline constexpr int kNumOutcomes = 5;
const char* outcome_name(Outcome outcome);

struct Judgement {
  Outcome outcome = Outcome::kOk;
  double max_error = 0;
  std::vector<std::int64_t> peak_bytes;  // by rank, over all orders
  std::string reason;
};

class PlanJudge {
 public:
  // `request` must outlive the judge.
  PlanJudge(const Request& request, LayerKind kind);
  // Wrong: an input that is not given whole, or an output that a rank must hold, or that the plan promises, is absent
  // or off by more than 1e-9. Bytes: ranks sent other bytes than the messages say. The first order that is not ok ends
  // the judgement.
  Judgement judge(const Plan& plan, int orders);

 private:
  Outcome check_order(const Plan& plan, std::uint64_t seed, Judgement& judgement);
  bool outputs_right(const Plan& plan, const PlanRun& run, Judgement& judgement) const;
  bool output_right(const Plan& plan, const PlanRun& run, std::size_t output, Judgement& judgement) const;

  const Request& request_;
  LayerInputs inputs_;
  std::vector<DenseTensor> wanted_;
};

}  // namespace spscope::testing
