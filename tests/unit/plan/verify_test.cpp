// verify() accepts every plan of the library and finds each named damage by its rule. Executing the plan shows whether
// it is right, or the damage real.
#include "backend/plan/verify.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "backend/schedule/memory.h"
#include "tests/support/plan_corruption.h"
#include "tests/support/plan_judge.h"
#include "tests/support/plan_library.h"

namespace spscope::testing {
namespace {

constexpr int kMutationOrders = 8;

const PlanCase& mutation_case(const std::string& name) {
  return *std::ranges::find(mutation_cases(), name, &PlanCase::name);
}

std::string text_of(const std::vector<PlanProblem>& problems) {
  std::string text;
  for (const PlanProblem& problem : problems) text += std::string(rule_name(problem.rule)) + ": " + problem.text + "\n";
  return text;
}

bool has_rule(const std::vector<PlanProblem>& problems, Rule rule) {
  return std::ranges::find(problems, rule, &PlanProblem::rule) != problems.end();
}

class Corrupted : public ::testing::TestWithParam<Corruption> {};

TEST_P(Corrupted, IsFoundByItsRule) {
  const Corruption& corruption = GetParam();
  const PlanCase& c = mutation_case(corruption.plan);
  const Request request = layer_request(c.shape, c.kind);
  EditablePlan editable(build(c.plan, request));
  ASSERT_EQ(text_of(verify(editable.flatten(), request)), "");

  corruption.apply(editable, request);
  const Plan plan = editable.flatten();
  const std::vector<PlanProblem> problems = verify(plan, request);
  EXPECT_TRUE(has_rule(problems, corruption.rule)) << "wanted " << rule_name(corruption.rule) << ", found\n"
                                                   << text_of(problems);
  const Judgement judgement = PlanJudge(request, c.kind).judge(plan, kMutationOrders);
  EXPECT_EQ(judgement.outcome != Outcome::kOk, corruption.harmful)
      << outcome_name(judgement.outcome) << ": " << judgement.reason;
}

INSTANTIATE_TEST_SUITE_P(ByName, Corrupted, ::testing::ValuesIn(corruptions()),
                         [](const auto& info) { return info.param.plan + "_" + info.param.name; });

// Each plan computes the whole layer in any order, ranks send what its messages say, and no order needs more memory
// than the bound.
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
