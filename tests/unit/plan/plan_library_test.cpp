// Every plan of the library: verify() accepts it, it computes the whole layer in any order, ranks send what its
// messages say, and no order needs more memory than the bound.
#include <gtest/gtest.h>

#include "backend/plan/verify.h"
#include "backend/schedule/memory.h"
#include "tests/support/plan_judge.h"
#include "tests/support/plan_library.h"

namespace spscope::testing {
namespace {

constexpr int kOrders = 6;

class PlanLibrary : public ::testing::TestWithParam<PlanCase> {};

TEST_P(PlanLibrary, VerifiesAndComputesTheLayerInEveryOrder) {
  const PlanCase& c = GetParam();
  const Request request = layer_request(c.shape, c.kind);
  const Plan plan = build(c.plan, request);
  for (const PlanProblem& problem : verify(plan, request))
    ADD_FAILURE() << rule_name(problem.rule) << ": " << problem.text;

  const Judgement judgement = PlanJudge(request, c.kind).judge(plan, kOrders);
  EXPECT_EQ(judgement.outcome, Outcome::kOk) << outcome_name(judgement.outcome) << ": " << judgement.reason;

  const std::vector<std::int64_t> bound = memory_bound(plan);
  for (std::size_t rank = 0; rank < bound.size(); ++rank)
    EXPECT_LE(judgement.peak_bytes[rank], bound[rank]) << "rank " << rank;
}

INSTANTIATE_TEST_SUITE_P(All, PlanLibrary, ::testing::ValuesIn(plan_cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace spscope::testing
