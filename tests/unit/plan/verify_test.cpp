// verify() finds each named damage by its rule, and executing the plan shows whether the damage is real.
#include "backend/plan/verify.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/plan_corruption.h"
#include "tests/support/plan_judge.h"

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

}  // namespace
}  // namespace spscope::testing
