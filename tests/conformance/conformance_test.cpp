// Every strategy on every pattern, block, number of ranks and awkward size: its plan is accepted by verify(), and its
// run on thread ranks equals the attention, or the whole layer, in double precision and moves the bytes that the plan
// says; or it is refused with a reason, exactly when its plan could not be made. New rows of strategies.def and
// patterns.def are tried unasked.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "backend/execute/execute.h"
#include "backend/execute/reference.h"
#include "backend/plan/verify.h"
#include "backend/schedule/memory.h"
#include "backend/strategies/strategy.h"
#include "tests/conformance/workloads.h"

namespace spscope {
namespace {

struct Case {
  std::size_t workload, pattern;
};

class Conformance : public testing::TestWithParam<Case> {
 protected:
  const Workload& workload() const { return workloads()[GetParam().workload]; }
  const Pattern& pattern() const { return patterns()[GetParam().pattern]; }
};

void expect_verified(const Plan& plan, const Request& request) {
  const std::vector<PlanProblem> problems = verify(plan, request);
  for (const PlanProblem& problem : problems) ADD_FAILURE() << rule_name(problem.rule) << ": " << problem.text;
}

void expect_right(const Plan& plan, const Request& request, const Activations& activations,
                  const Reference& reference) {
  ExecuteOptions options;
  options.poison = true;
  const ExecuteResult result = execute(plan, request, activations, options);
  const Verification verification = reference.check(result.outputs);
  EXPECT_EQ(verification.verdict, Verdict::kPassed)
      << "error " << verification.max_error << " in layer " << verification.worst_layer << ", head "
      << verification.worst_head << ", outer " << verification.worst_outer << ", inner " << verification.worst_inner;
  EXPECT_EQ(result.traffic.sent, bytes_sent(plan));
  EXPECT_EQ(result.traffic.received, bytes_received(plan));
  const std::vector<std::int64_t> bound = memory_bound(plan);
  for (std::size_t rank = 0; rank < bound.size(); ++rank) EXPECT_LE(result.peak_bytes[rank], bound[rank]) << rank;
}

// Settings of a strategy that this test runs: all that the strategy calls worth comparing, its defaults, and the
// defaults with each choice of each parameter.
std::vector<Parameters> settings_to_run(const Strategy& strategy, const Request& request) {
  std::vector<Parameters> settings = strategy.candidates(request);
  const auto add = [&](const Parameters& setting) {
    if (std::ranges::find(settings, setting) == settings.end() && strategy.legal(request, setting).empty())
      settings.push_back(setting);
  };
  const Parameters defaults(strategy.parameters());
  add(defaults);
  for (const Parameter& row : strategy.parameters())
    for (const std::string& choice : row.choices) {
      Parameters setting = defaults;
      if (request.ranks % 2 == 0 && setting.has("ring")) setting.set("ring", std::int64_t{2});  // a mesh of two axes
      setting.set(row.name, choice);
      add(setting);
    }
  return settings;
}

TEST_P(Conformance, RunsEqualTheReference) {
  for (const Dtype dtype : {Dtype::kFp32, Dtype::kBf16}) {
    const Request whole = make_request(workload(), pattern(), 1, dtype);
    const Activations activations = generate_activations(whole, 11);
    const Reference reference(whole, activations, VerifyExtent::kFull, 0);
    for (const int ranks : rank_counts(workload())) {
      Request request = make_request(workload(), pattern(), ranks, dtype);
      define_outputs(request);
      for (const Strategy& strategy : strategies())
        for (const Parameters& setting : settings_to_run(strategy, request)) {
          SCOPED_TRACE(std::string(strategy.name) + ":" + setting.str() + " on " + std::to_string(ranks) + " ranks, " +
                       std::string(dtype_name(dtype)));
          const Plan plan = make_plan(strategy, request, setting);
          expect_verified(plan, request);
          expect_right(plan, request, activations, reference);
        }
    }
  }
}

TEST_P(Conformance, EveryLegalSettingIsVerifiedAndEveryOtherOneHasAReason) {
  for (const int ranks : rank_counts(workload())) {
    Request request = make_request(workload(), pattern(), ranks, Dtype::kBf16);
    define_outputs(request);
    for (const Strategy& strategy : strategies())
      for (const Parameters& setting : all_settings(strategy.parameters(), ranks)) {
        SCOPED_TRACE(std::string(strategy.name) + ":" + setting.str() + " on " + std::to_string(ranks) + " ranks");
        const std::vector<Problem> problems = strategy.legal(request, setting);
        for (const Problem& problem : problems) {
          EXPECT_FALSE(problem.message.empty());
          EXPECT_FALSE(problem.hint.empty());
        }
        if (problems.empty())
          expect_verified(make_plan(strategy, request, setting), request);
        else
          EXPECT_THROW(make_plan(strategy, request, setting), Error);
      }
  }
}

TEST_P(Conformance, UlyssesIsRefusedOnlyWhenItsDegreeExceedsTheHeads) {
  const Strategy* ulysses = find_strategy("ulysses");
  ASSERT_NE(ulysses, nullptr);
  for (const int ranks : rank_counts(workload())) {
    const Request request = make_request(workload(), pattern(), ranks, Dtype::kBf16);
    EXPECT_EQ(ulysses->legal(request, Parameters(ulysses->parameters())).empty(), ranks <= workload().heads) << ranks;
  }
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (std::size_t w = 0; w < workloads().size(); ++w)
    for (std::size_t p = 0; p < patterns().size(); ++p)
      if (runs_on(workloads()[w], patterns()[p])) cases.push_back({w, p});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, Conformance, testing::ValuesIn(all_cases()), [](const auto& info) {
  std::string name(workloads()[info.param.workload].name);
  name.append("_").append(patterns()[info.param.pattern].name);
  std::ranges::replace(name, '-', '_');
  return name;
});

}  // namespace
}  // namespace spscope
