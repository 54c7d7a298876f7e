// A collection becomes one file: of a run that ends well, and of one whose rank fails.
#include "backend/job/run_output.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "backend/job/run_shards.h"
#include "backend/store/store_reader.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/execute/execute_cases.h"

namespace spscope {
namespace {

using ::testing::HasSubstr;
using testing::plan_of;
using testing::small_request;

class RunInto : public ::testing::Test {
 protected:
  RunInto() { std::filesystem::create_directory(scratch_); }

  // What run_job does before it executes a plan.
  RunId begin(const RunTarget& target) {
    WorkloadRecord workload;
    workload.ranks = 4;
    StrategyRecord strategy;
    strategy.workload_id = target.head->add_workload(workload);
    strategy.id = strategy.name = strategy.label = "ring";
    strategy.device = "cpu", strategy.backend = "threads";
    RunRecord run;
    run.strategy_id = target.head->add_strategy(strategy);
    run.plan_id = target.head->add_plan(plan_);
    const RunId id = target.head->begin_run(run);
    target.head->checkpoint();
    target.recorder->prepare(id, plan_);
    return id;
  }
  RunShardsOptions all_ranks() const {
    RunShardsOptions options;
    options.ranks = 4;
    return options;
  }
  std::string answer(const std::string& sql) const {
    const QueryResult result = StoreReader(out_).query(sql);
    return result.rows.empty() ? "no row" : result.rows[0][0].value_or("NULL");
  }

  TemporaryFolder folder_;
  const std::string scratch_ = folder_ / "scratch", out_ = folder_ / "out.db";
  const Request request_ = small_request(4);
  const Plan plan_ = plan_of(request_, "ring");
  const Activations activations_ = generate_activations(request_, 1);
};

TEST_F(RunInto, AFileThatHoldsWhatTheExecutorReturned) {
  ExecuteResult result;
  {
    RunOutput output(out_, {false, scratch_, 4, {}});
    RunShards shards(output.note(), all_ranks());
    EXPECT_EQ(shards.num_shards(), 2);
    const RunTarget target = shards.target();
    const RunId id = begin(target);
    ExecuteOptions options;
    options.repeats = 3;
    options.warmup = 1;
    options.recorder = target.recorder;
    result = execute(plan_, request_, activations_, options);
    EXPECT_TRUE(target.recorder->complete());
    for (int repeat = 0; repeat < 3; ++repeat)
      target.head->add_repeat(id, {.repeat = repeat,
                                   .makespan_ns = result.makespan_ns[static_cast<std::size_t>(repeat)],
                                   .has_timeline = true});
    shards.finish();
    const MergeReport report = output.merge({});
    EXPECT_EQ(report.events, 3 * static_cast<std::int64_t>(plan_.ops.size()));
    EXPECT_EQ(report.dropped + report.lost + report.unreadable + report.unfinished, 0);
  }
  EXPECT_TRUE(std::filesystem::is_empty(scratch_));
  EXPECT_FALSE(std::filesystem::exists(collecting_path(out_)));
  const StoreReader reader(out_);
  for (int repeat = 0; repeat < 3; ++repeat) {
    const std::optional<Timeline> stored = reader.timeline(RunId{1}, repeat);
    ASSERT_TRUE(stored);
    const Timeline& timeline = result.timelines[static_cast<std::size_t>(repeat)];
    EXPECT_EQ(stored->makespan_ns(), timeline.makespan_ns());
    ASSERT_EQ(stored->ops.size(), timeline.ops.size());
    for (std::size_t op = 0; op < timeline.ops.size(); ++op) {
      EXPECT_EQ(stored->ops[op].end_ns - stored->ops[op].post_ns, timeline.ops[op].end_ns - timeline.ops[op].post_ns);
      EXPECT_EQ(stored->ops[op].begin_ns - stored->ops[0].post_ns, timeline.ops[op].begin_ns - timeline.ops[0].post_ns);
    }
  }
  EXPECT_EQ(answer("SELECT count(*) FROM rank_process WHERE state_text = ''"), "4");
  EXPECT_EQ(answer("SELECT count(*) FROM incident"), "0");
}

TEST_F(RunInto, AFileThatSaysWhichRankFailedAndInWhat) {
  OpId victim = kNone;
  {
    RunOutput output(out_, {false, scratch_, 4, {}});
    RunShards shards(output.note(), all_ranks());
    const RunTarget target = shards.target();
    begin(target);
    for (std::size_t id = 0; id < plan_.ops.size() && victim == kNone; ++id)
      if (plan_.ops[id].rank == 2 && id > plan_.ops.size() / 2) victim = static_cast<OpId>(id);
    ExecuteOptions options;
    options.recorder = target.recorder;
    options.before_op = [&](OpId op, const std::atomic<bool>&) {
      if (op == victim) throw std::runtime_error("broken");
    };
    EXPECT_THROW(execute(plan_, request_, activations_, options), Error);
    shards.add_incident({-1, -1, -1, std::nullopt, IncidentKind::kFailed, "what the head heard of it"});
    shards.finish();
    const MergeReport report = output.merge({});
    EXPECT_GT(report.events, 0);
    EXPECT_GT(report.unfinished, 0);
  }
  // The cause, not who heard of it.
  EXPECT_EQ(answer("SELECT group_concat(rank || ' in ' || op_id) FROM incident"), "2 in " + std::to_string(victim));
  EXPECT_THAT(answer("SELECT message FROM incident"), HasSubstr("broken"));
  EXPECT_THAT(answer("SELECT state_text FROM rank_process WHERE rank = 2"), HasSubstr("broken"));
  EXPECT_EQ(answer("SELECT finished FROM run"), "0");
  EXPECT_EQ(answer("SELECT count(*) FROM event WHERE unfinished AND rank = 2 AND op_id = " + std::to_string(victim)),
            "1");
}

}  // namespace
}  // namespace spscope
