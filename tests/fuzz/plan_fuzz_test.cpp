// Does verify() agree with what plans compute? Seeded mutants of small plans, one field changed in each (two in every
// fourth), are verified; those it accepts are run in 8 legal orders, and none may compute something else, move other
// bytes than it says, or hang. A seeded sample of the rejected ones is run too, to show that the damage is real.
//
// SPSCOPE_FUZZ_MUTANTS and SPSCOPE_FUZZ_SEED change how many and which; a failure prints the mutant to repeat.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <set>

#include "backend/plan/verify.h"
#include "tests/support/plan_corruption.h"
#include "tests/support/plan_judge.h"

namespace spscope::testing {
namespace {

constexpr std::int64_t kMutants = 10000;
constexpr std::int64_t kSeed = 20260822;
constexpr int kOrders = 8;
constexpr int kSampledOrders = 3;
constexpr int kSampleEvery = 2;  // of the rejected mutants

std::int64_t from_environment(const char* name, std::int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoll(text, nullptr, 10);
}

struct Subject {
  explicit Subject(const PlanCase& c)
      : name(c.name),
        request(layer_request(c.shape, c.kind)),
        plan(build(c.plan, request)),
        editable(plan),
        judge(request, c.kind) {}

  std::string name;
  Request request;
  Plan plan;
  EditablePlan editable;
  PlanJudge judge;
};

std::vector<std::unique_ptr<Subject>> subjects() {
  std::vector<std::unique_ptr<Subject>> list;
  for (const PlanCase& c : mutation_cases()) list.push_back(std::make_unique<Subject>(c));
  return list;
}

bool has_nonsense(const EditablePlan& editable, const Request& request) {
  return !can_be_followed(editable.flatten(), request) || editable.ops.empty() || editable.outputs.empty();
}

struct Tally {
  std::array<int, kNumRules> rules = {};  // mutants that each rule found
  int harmful = 0, sampled = 0;           // of those that were rejected and run
};

void count_rules(const std::vector<PlanProblem>& problems, Tally& tally) {
  std::set<Rule> rules;
  for (const PlanProblem& problem : problems) rules.insert(problem.rule);
  for (const Rule rule : rules) ++tally.rules[static_cast<std::size_t>(rule)];
}

void try_mutant(Subject& subject, Rng& rng, std::int64_t number, Tally& tally) {
  EditablePlan editable = subject.editable;
  std::string changed;
  const int changes = rng.below(4) == 0 ? 2 : 1;
  for (int change = 0; change < changes;) {
    const std::string field = mutate(editable, subject.request, rng);
    if (field.empty()) continue;
    changed += (changed.empty() ? "" : " and ") + field;
    ++change;
    if (has_nonsense(editable, subject.request)) break;  // whatever is wrong beside it would not be seen
  }
  const Plan plan = editable.flatten();
  const std::vector<PlanProblem> problems = verify(plan, subject.request);
  count_rules(problems, tally);
  const bool accepted = problems.empty();
  if (!accepted && rng.below(kSampleEvery) != 0) return;
  const Judgement judgement = subject.judge.judge(plan, accepted ? kOrders : kSampledOrders);
  if (accepted) {
    EXPECT_EQ(judgement.outcome, Outcome::kOk)
        << "mutant " << number << " of " << subject.name << " (" << changed
        << ") was accepted: " << outcome_name(judgement.outcome) << ", " << judgement.reason;
  } else {
    ++tally.sampled;
    tally.harmful += judgement.outcome != Outcome::kOk;
  }
}

TEST(PlanFuzz, NoWrongMutantIsAccepted) {
  const std::int64_t mutants = from_environment("SPSCOPE_FUZZ_MUTANTS", kMutants);
  const auto seed = static_cast<std::uint64_t>(from_environment("SPSCOPE_FUZZ_SEED", kSeed));
  const auto all = subjects();
  for (const auto& subject : all) {
    ASSERT_TRUE(verify(subject->plan, subject->request).empty()) << subject->name;
    ASSERT_EQ(subject->judge.judge(subject->plan, kOrders).outcome, Outcome::kOk) << subject->name;
  }
  Tally tally;
  for (std::int64_t number = 0; number < mutants; ++number) {
    Rng rng(seed, static_cast<std::uint64_t>(number));
    Subject& subject = *all[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(all.size())))];
    try_mutant(subject, rng, number, tally);
  }
  EXPECT_GT(tally.harmful * 2, tally.sampled) << "most rejected mutants must be wrong, or the fuzz has no teeth";
  for (const Corruption& corruption : corruptions()) {
    const auto& subject =
        **std::find_if(all.begin(), all.end(), [&](const auto& s) { return s->name == corruption.plan; });
    EditablePlan editable = subject.editable;
    corruption.apply(editable, subject.request);
    count_rules(verify(editable.flatten(), subject.request), tally);
  }
  for (int r = 0; r < kNumRules; ++r)
    EXPECT_GT(tally.rules[static_cast<std::size_t>(r)], 0) << rule_name(static_cast<Rule>(r)) << " never fired";
}

// Ranges of the flat plan, which no mutant can break.
void break_range(Plan& plan, Rng& rng) {
  static constexpr IdRange nonsense[] = {{-1, 3}, {5, 2}, {0, 1000000000}, {-1000000000, -5}, {7, 1 << 20}};
  const IdRange range = nonsense[rng.below(5)];
  Op& op = plan.ops[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(plan.ops.size())))];
  Value& value = plan.values[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(plan.values.size())))];
  Post& post = plan.posts[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(plan.posts.size())))];
  IdRange* const ranges[] = {&op.deps, &op.messages, &value.pending, &value.sources, &post.operands};
  *ranges[rng.below(5)] = range;
}

// Many fields at once, so that whatever is checked first is not all that is seen; sanitizers judge.
TEST(PlanFuzz, NothingBreaksVerifyOrTheExecutor) {
  const auto seed = static_cast<std::uint64_t>(from_environment("SPSCOPE_FUZZ_SEED", kSeed));
  const std::int64_t mutants = from_environment("SPSCOPE_FUZZ_MUTANTS", kMutants) / 4;
  const auto all = subjects();
  int found = 0;
  for (std::int64_t number = 0; number < mutants; ++number) {
    Rng rng(seed + 1, static_cast<std::uint64_t>(number));
    Subject& subject = *all[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(all.size())))];
    EditablePlan editable = subject.editable;
    for (std::int64_t change = rng.below(12); change >= 0; --change) mutate(editable, subject.request, rng);
    Plan plan = editable.flatten();
    if (rng.below(4) == 0 && !plan.ops.empty()) break_range(plan, rng);
    found += !verify(plan, subject.request).empty();
    if (rng.below(8) == 0) subject.judge.judge(plan, 1);
  }
  EXPECT_GT(found, mutants / 2);
}

}  // namespace
}  // namespace spscope::testing
