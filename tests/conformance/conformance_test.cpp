// Every strategy on every pattern, block, number of ranks and awkward size: its plan is accepted by verify(), and its
// run on thread ranks equals the attention, or the whole layer, in double precision and moves the bytes that the plan
// says; or it is refused with a reason, exactly when its plan could not be made. Strategies that read the mask are
// right whatever mask they planned from. New rows of strategies.def and patterns.def are tried unasked.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "backend/base/ids.h"
#include "backend/execute/execute.h"
#include "backend/execute/program/slot_places.h"
#include "backend/execute/reference/reference.h"
#include "backend/plan/verify.h"
#include "backend/schedule/memory.h"
#include "backend/strategies/strategy.h"
#include "tests/conformance/settings.h"
#include "tests/conformance/workloads.h"

namespace spscope {
namespace {

class Conformance : public ::testing::TestWithParam<ConformanceCase> {
 protected:
  const TestedWorkload& workload() const { return workloads()[GetParam().workload]; }
  const Pattern& pattern() const { return patterns()[GetParam().pattern]; }
};

// Places of what is in use at one time are within memory_bound(). The whole part of a rank is no more than that and
// what aligning its slots adds; one plan of dbsp has gaps of a hundredth, one of torus of a fortieth.
void expect_places_within(const std::vector<std::int64_t>& bound, const Plan& plan, const Strategy& strategy) {
  const MemoryLayout layout(plan);
  const SlotPlaces places = place_slots(plan, layout, used_slots(plan, layout));
  std::vector<std::int64_t> with_padding = bound;
  for (SlotId slot = 0; slot < static_cast<SlotId>(layout.slots().size()); ++slot)
    with_padding[at(layout.slot(slot).rank)] += layout.allocated_bytes(slot) - layout.slot(slot).num_bytes;
  for (std::size_t rank = 0; rank < bound.size(); ++rank) {
    const std::string_view name = strategy.name;
    const std::int64_t gaps = name == "dbsp" ? with_padding[rank] / 100 : name == "torus" ? with_padding[rank] / 40 : 0;
    EXPECT_LE(places.live_bytes_of_rank[rank], bound[rank]) << rank;
    EXPECT_LE(places.bytes_of_rank[rank], with_padding[rank] + gaps) << rank;
  }
}

void expect_verified(const Plan& plan, const Request& request) {
  const std::vector<PlanProblem> problems = verify(plan, request);
  for (const PlanProblem& problem : problems) ADD_FAILURE() << rule_name(problem.rule) << ": " << problem.text;
}

void expect_right(const Plan& plan, const Request& request, const Activations& activations, const Reference& reference,
                  const Strategy& strategy) {
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
  expect_places_within(bound, plan, strategy);
}

// The default set: masks of one evolving pattern and of the one that leaves nothing out, and of the numbers of ranks
// one alone, one that divides nothing, one on nodes of two, and one that is more than some workloads have heads. The
// wide set has all patterns, numbers and degrees.
std::vector<ConformanceCase> cases() {
  if (wide_set()) return all_cases();
  std::vector<ConformanceCase> cases = cases_of("sparge");
  const std::vector<ConformanceCase> dense = cases_of("dense");
  cases.insert(cases.end(), dense.begin(), dense.end());
  return cases;
}

std::vector<int> ranks_of(const TestedWorkload& workload) {
  const std::span<const int> all = rank_counts(workload);
  return wide_set() ? std::vector<int>(all.begin(), all.end()) : std::vector<int>{1, 3, 4, 8};
}

std::vector<Parameters> settings_of(const Strategy& strategy, const Request& request, bool telling, Dtype dtype) {
  const bool fp32 = dtype == Dtype::kFp32;
  if (telling && (fp32 || wide_set())) return settings_to_run(strategy, request, fp32 && wide_set());
  if (fp32 && wide_set()) return settings_to_run(strategy, request, false);
  SettingList settings(strategy, request);
  settings.add(Parameters(strategy.parameters()));
  return settings.take();
}

TEST_P(Conformance, RunsEqualTheReference) {
  // All degrees take as long as everything else: they run in one type, on an evolving and on an extreme pattern. Other
  // patterns run in BF16 with default settings alone: plans differ between types in bytes, and in nothing else.
  const bool telling = pattern().name == "sparge" || pattern().name == "headwise";
  for (const Dtype dtype : {Dtype::kFp32, Dtype::kBf16}) {
    const Request whole = make_request(workload(), pattern(), 1, dtype);
    const Activations activations = generate_activations(whole, 11);
    const Reference reference(whole, activations, VerifyExtent::kFull, 0);
    for (const int ranks : ranks_of(workload())) {
      Request request = make_request(workload(), pattern(), ranks, dtype);
      define_outputs(request);
      for (const Strategy& strategy : strategies())
        for (const Parameters& setting : settings_of(strategy, request, telling, dtype)) {
          SCOPED_TRACE(std::string(strategy.name) + ":" + setting.str() + " on " + std::to_string(ranks) + " ranks, " +
                       std::string(dtype_name(dtype)));
          const Plan plan = make_plan(strategy, request, setting);
          expect_verified(plan, request);
          expect_right(plan, request, activations, reference, strategy);
        }
    }
  }
}

class OtherMasks : public Conformance {};

TEST_P(OtherMasks, PlansAreRightWhateverIsKnown) {
  const Request whole = make_request(workload(), pattern(), 1, Dtype::kFp32);
  const Activations activations = generate_activations(whole, 11);
  const Reference reference(whole, activations, VerifyExtent::kFull, 0);
  for (const Known known : {Known::kOtherMask, Known::kNothing})
    for (const int ranks : ranks_of(workload())) {
      Request request = make_request(workload(), pattern(), ranks, Dtype::kFp32, known);
      define_outputs(request);
      for (const char* name : {"dbsp", "snake", "cyclic", "torus", "dsv"}) {
        const Strategy& strategy = *find_strategy(name);
        SettingList settings(strategy, request);
        Parameters first(strategy.parameters());
        if (first.has("heads")) first.set("heads", std::string("balanced"));  // of torus, by the known mask
        settings.add(first);
        if (wide_set()) settings.add_all_degrees();
        for (const Parameters& setting : settings.take()) {
          SCOPED_TRACE(std::string(name) + ":" + setting.str() + " on " + std::to_string(ranks) + " ranks, " +
                       (known == Known::kNothing ? "nothing known" : "another mask known"));
          const Plan plan = make_plan(strategy, request, setting);
          expect_verified(plan, request);
          expect_right(plan, request, activations, reference, strategy);
        }
      }
    }
}

TEST_P(Conformance, EveryLegalSettingIsVerifiedAndEveryOtherOneHasAReason) {
  for (const int ranks : ranks_of(workload())) {
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

TEST(Ulysses, IsRefusedOnlyWhenItsDegreeExceedsTheHeads) {
  const Strategy& ulysses = *find_strategy("ulysses");
  for (const TestedWorkload& workload : workloads())
    for (const int ranks : rank_counts(workload)) {
      const Request request = make_request(workload, *find_pattern("dense"), ranks, Dtype::kBf16);
      EXPECT_EQ(ulysses.legal(request, Parameters(ulysses.parameters())).empty(), ranks <= workload.heads)
          << workload.name << " on " << ranks;
    }
}

// On patterns whose masks differ between seeds in the load of heads and of blocks.
std::vector<ConformanceCase> cases_of_other_masks() {
  std::vector<ConformanceCase> cases = cases_of("sparge");
  const std::vector<ConformanceCase> paro = cases_of("paro");
  if (wide_set()) cases.insert(cases.end(), paro.begin(), paro.end());
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, Conformance, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return case_name(info.param); });
INSTANTIATE_TEST_SUITE_P(All, OtherMasks, ::testing::ValuesIn(cases_of_other_masks()),
                         [](const auto& info) { return case_name(info.param); });

}  // namespace
}  // namespace spscope
