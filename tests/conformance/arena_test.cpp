// The conformance set on an executor that the program does not have (arena_executor.h), through its row alone: results
// equal the reference, bytes those of the plan, and outputs have the same bits as those of the built-in executor. The
// row is also all that configs, `doctor`, `run` and the mode `project` need.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "backend/base/result.h"
#include "backend/execute/execute.h"
#include "backend/execute/measure.h"
#include "backend/execute/reference/reference.h"
#include "backend/job/machine.h"
#include "backend/job/run_job.h"
#include "backend/job/run_size.h"
#include "backend/schedule/memory.h"
#include "backend/store/store_reader.h"
#include "backend/store/store_writer.h"
#include "backend/strategies/strategy.h"
#include "tests/conformance/arena_executor.h"
#include "tests/conformance/settings.h"
#include "tests/conformance/workloads.h"
#include "tests/support/temporary_folder.h"

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
  const TestedWorkload& workload = workloads()[GetParam().workload];
  const Pattern& pattern = patterns()[GetParam().pattern];
  const std::vector<Executor> rows = more_executors();
  for (const Dtype dtype : wide_set() ? std::vector{Dtype::kFp32, Dtype::kBf16} : std::vector{Dtype::kBf16}) {
    const Request whole = make_request(workload, pattern, 1, dtype);
    const Activations activations = generate_activations(whole, 11);
    const Reference reference(whole, activations, VerifyExtent::kFull, 0);
    for (const int ranks : wide_set() ? std::vector{1, 3, 4} : std::vector{3}) {
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

INSTANTIATE_TEST_SUITE_P(All, ArenaConformance, ::testing::ValuesIn(cases_of("sparge")),
                         [](const auto& info) { return case_name(info.param); });

JobFlags arena_flags(std::vector<std::string> settings = {}) {
  JobFlags flags;
  flags.strategies = {"ring", "ulysses"};
  flags.settings = {"run.device=arena", "model.grid=3,6,7", "mask.block=16", "model.heads=2",
                    "model.head_dim=8", "cluster.ranks=2",  "run.layers=2",  "run.repeats=2"};
  flags.settings.insert(flags.settings.end(), settings.begin(), settings.end());
  return flags;
}

TEST(Arena, AConfigMayNameItWhenItsRowIsThere) {
  const std::vector<Executor> rows = more_executors();
  const Job job = load_job(arena_flags(), kDefaultMaxMemoryBytes, rows);
  EXPECT_EQ(job.config.run.device, "arena");
  EXPECT_NO_THROW(require_executor(job));
  EXPECT_EQ(load_job(arena_flags({"run.comm=mail"}), kDefaultMaxMemoryBytes, rows).config.run.comm, "mail");
  const auto fields = [](const JobFlags& flags, std::span<const Executor> known) {
    std::vector<std::string> fields;
    const auto job = capture([&] { return load_job(flags, kDefaultMaxMemoryBytes, known); });
    if (!job)
      for (const Problem& problem : job.error().problems()) fields.push_back(problem.field);
    return fields;
  };
  EXPECT_EQ(fields(arena_flags(), executors()), std::vector<std::string>{"run.device"});
  EXPECT_EQ(fields(arena_flags({"run.backend=mpi"}), rows), std::vector<std::string>{"run.backend"});
  EXPECT_EQ(fields(arena_flags({"run.comm=memory"}), rows), std::vector<std::string>{"run.comm"});
}

TEST(Arena, DoctorListsItWhenItsRowIsThere) {
  const std::vector<MachineFact> with = executor_facts(more_executors());
  std::vector<MachineFact> expected = executor_facts();
  EXPECT_EQ(expected.size(), executors().size());
  expected.push_back({"arena ranks by threads", "an arena for each rank; messages through mail"});
  EXPECT_EQ(with, expected);
}

// What a run with the arena leaves in its store.
struct ArenaRun {
  std::vector<StrategyRecord> strategies;
  std::vector<RunRecord> runs;
};
ArenaRun run_with_arena(std::vector<std::string> settings) {
  const std::vector<Executor> rows = more_executors();
  const Job job = load_job(arena_flags(std::move(settings)), kDefaultMaxMemoryBytes, rows);
  const TemporaryFolder folder;
  const std::string path = folder / "head.db";
  {
    StoreWriter head = StoreWriter::shard(path, {ShardKind::kHead, ShardClock::kRun, -1, std::string(32, '0')});
    const RunOutcome outcome = run_job(job, {&head, nullptr}, {});
    EXPECT_FALSE(outcome.interrupted());
    head.finish();
  }
  const StoreReader reader = StoreReader::shard(path);
  ArenaRun run{reader.strategies(), {}};
  for (const StrategyRecord& strategy : run.strategies)
    for (RunRecord& record : reader.runs(strategy.strategy_id)) run.runs.push_back(std::move(record));
  return run;
}

TEST(Arena, ARunFindsIt) {
  const ArenaRun run = run_with_arena({});
  ASSERT_EQ(run.strategies.size(), 2u);
  for (const StrategyRecord& s : run.strategies)
    EXPECT_EQ(std::pair(s.device, s.backend), std::pair(std::string("arena"), std::string("threads")));
  EXPECT_EQ(run.runs.size(), 4u);
  for (const RunRecord& r : run.runs) {
    EXPECT_EQ(r.verdict, Verdict::kPassed);
    EXPECT_EQ(r.provenance.network, Source::kMeasured);
  }
}

// Its compute takes a nanosecond for each FLOP, whatever the processor takes.
TEST(Arena, AProjectionMeasuresItThroughItsRow) {
  const std::vector<Executor> rows = more_executors();
  const Request request = make_request(workloads().front(), patterns().front(), 2, Dtype::kFp32);
  const Strategy& ring = *find_strategy("ring");
  const Plan plan = make_plan(ring, request, Parameters(ring.parameters()));
  MeasureOptions options;
  options.repeats = 2;
  const Activations activations = generate_activations(request, 1);
  const auto ns = measure_compute(plan, request, activations, "arena", options, rows);
  ASSERT_EQ(ns.size(), 2u);
  for (std::size_t op = 0; op < plan.ops.size(); ++op)
    EXPECT_EQ(ns[0][op], communicates(plan.kind_of(plan.ops[op])) ? 0 : plan.ops[op].flops) << op;
  EXPECT_THROW(measure_compute(plan, request, activations, "arena", options), Error);
  for (const RunRecord& r : run_with_arena({"run.mode=project"}).runs) {
    EXPECT_EQ(r.provenance.compute, Source::kMeasured);
    EXPECT_EQ(r.provenance.network, Source::kModelled);
  }
}

TEST(Arena, IsNoExecutorOfTheProgram) {
  const TestedWorkload& workload = workloads().front();
  const Request request = make_request(workload, patterns().front(), 1, Dtype::kFp32);
  const Strategy& single = *find_strategy("single");
  const Plan plan = make_plan(single, request, Parameters(single.parameters()));
  EXPECT_EQ(cannot_execute(plan, arena_options()).size(), 1u);
  EXPECT_TRUE(cannot_execute(plan, arena_options(), more_executors()).empty());
}

}  // namespace
}  // namespace spscope
