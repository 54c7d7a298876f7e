// The conformance set on an executor that the program does not have (arena_executor.h), through its row alone: results
// equal the reference, bytes those of the plan, and outputs have the same bits as those of the built-in executor.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "backend/execute/execute.h"
#include "backend/execute/reference/reference.h"
#include "backend/schedule/memory.h"
#include "backend/strategies/strategy.h"
#include "tests/conformance/arena_executor.h"
#include "tests/conformance/settings.h"
#include "tests/conformance/workloads.h"

namespace spscope {
namespace {

// The table of a program that has one executor more.
std::vector<Executor> more_executors() {
  std::vector<Executor> rows(executors().begin(), executors().end());
  rows.push_back(testing::arena_executor());
  return rows;
}

ExecuteOptions arena_options() {
  ExecuteOptions options;
  options.device = "arena";
  options.comm = "mail";
  return options;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

class ArenaConformance : public ::testing::TestWithParam<ConformanceCase> {};

TEST_P(ArenaConformance, RunsEqualTheReferenceAndTheThreads) {
  const Workload& workload = workloads()[GetParam().workload];
  const Pattern& pattern = patterns()[GetParam().pattern];
  const std::vector<Executor> rows = more_executors();
  for (const Dtype dtype : {Dtype::kFp32, Dtype::kBf16}) {
    const Request whole = make_request(workload, pattern, 1, dtype);
    const Activations activations = generate_activations(whole, 11);
    const Reference reference(whole, activations, VerifyExtent::kFull, 0);
    for (const int ranks : {1, 3, 4}) {
      Request request = make_request(workload, pattern, ranks, dtype);
      define_outputs(request);
      for (const Strategy& strategy : strategies())
        for (const Parameters& setting : settings_to_run(strategy, request, false)) {
          SCOPED_TRACE(std::string(strategy.name) + ":" + setting.str() + " on " + std::to_string(ranks) + " ranks, " +
                       std::string(dtype_name(dtype)));
          const Plan plan = make_plan(strategy, request, setting);
          const ExecuteResult arena = execute(plan, request, activations, arena_options(), rows);
          EXPECT_EQ(reference.check(arena.outputs).verdict, Verdict::kPassed);
          EXPECT_EQ(arena.traffic.sent, bytes_sent(plan));
          EXPECT_EQ(arena.traffic.received, bytes_received(plan));
          const std::vector<std::int64_t> bound = memory_bound(plan);
          for (std::size_t rank = 0; rank < bound.size(); ++rank) EXPECT_LE(arena.peak_bytes[rank], bound[rank]);
          const ExecuteResult threads = execute(plan, request, activations, {}, rows);
          ASSERT_EQ(arena.outputs.size(), threads.outputs.size());
          for (std::size_t i = 0; i < threads.outputs.size(); ++i)
            EXPECT_TRUE(same_bits(arena.outputs[i].values, threads.outputs[i].values));
        }
    }
  }
}

std::string case_name(const ::testing::TestParamInfo<ConformanceCase>& info) {
  std::string name(workloads()[info.param.workload].name);
  name.append("_").append(patterns()[info.param.pattern].name);
  std::ranges::replace(name, '-', '_');
  return name;
}

// Every workload, on a mask that differs between heads and on a dense one.
std::vector<ConformanceCase> cases() {
  std::vector<ConformanceCase> cases = all_cases();
  std::erase_if(cases, [](const ConformanceCase& c) {
    return patterns()[c.pattern].name != "sparge" && patterns()[c.pattern].name != "dense";
  });
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, ArenaConformance, ::testing::ValuesIn(cases()), case_name);

TEST(Arena, IsNoExecutorOfTheProgram) {
  const Workload& workload = workloads().front();
  const Request request = make_request(workload, patterns().front(), 1, Dtype::kFp32);
  const Strategy& single = *find_strategy("single");
  const Plan plan = make_plan(single, request, Parameters(single.parameters()));
  EXPECT_EQ(cannot_execute(plan, arena_options()).size(), 1u);
  EXPECT_TRUE(cannot_execute(plan, arena_options(), more_executors()).empty());
}

}  // namespace
}  // namespace spscope
