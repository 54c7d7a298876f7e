// What was written is read again, by this program and by others.
#include <cstdlib>

#include "tests/unit/store/sample_store.h"

namespace spscope {
namespace {

using testing::sample_mask;
using testing::sample_plan;
using testing::sample_run;
using testing::sample_strategy;
using testing::sample_timeline;
using testing::sample_workload;
using testing::TemporaryFolder;
using testing::write_sample;

class Store : public ::testing::Test {
 protected:
  Store() { write_sample(path_, {.tool_version = "1.2.3"}); }
  TemporaryFolder folder_;
  const std::string path_ = folder_ / "out.db";
};

TEST_F(Store, TellsVersions) {
  const StoreReader reader(path_);
  EXPECT_EQ(reader.file().schema_version, kSchemaVersion);
  EXPECT_EQ(reader.file().min_reader, kMinReader);
  EXPECT_EQ(reader.file().tool_version, "1.2.3");
  EXPECT_EQ(reader.file().created_utc.size(), std::string("2026-01-31T12:00:00Z").size());
  EXPECT_EQ(reader.machine(), (std::vector<MachineFact>{{"cpu", "a cpu"}, {"cores", "2"}}));
}

TEST_F(Store, KeepsTheWorkload) {
  const auto fields = [](const WorkloadRecord& w) {
    return std::tuple(std::tuple(w.config_toml, w.config_hash, w.cluster_toml, w.model, w.pattern, w.cluster, w.scope,
                                 w.tokens, w.text_tokens, w.blocks, w.heads, w.head_dim, w.batch, w.layers),
                      std::tuple(w.denoise_steps, w.model_layers, w.forward_passes, w.ranks, w.nodes, w.gpus_per_node,
                                 w.data_parallel, w.dtype, w.guidance, w.combine_bytes, w.combine_ns));
  };
  const std::vector<WorkloadRecord> workloads = StoreReader(path_).workloads();
  ASSERT_EQ(workloads.size(), 1u);
  EXPECT_EQ(fields(workloads[0]), fields(sample_workload()));
}

TEST_F(Store, KeepsStrategies) {
  const std::vector<StrategyRecord> strategies = StoreReader(path_).strategies();
  ASSERT_EQ(strategies.size(), 2u);
  const auto fields = [](const StrategyRecord& s) {
    return std::tuple(s.id, s.name, s.label, s.parameters, s.mode, s.device, s.backend, s.rank_map, s.meshes);
  };
  EXPECT_EQ(fields(strategies[0]), fields(sample_strategy(strategies[0].workload_id)));
  EXPECT_TRUE(strategies[0].legal());
  ASSERT_EQ(strategies[1].problems.size(), 1u);
  const Problem& problem = strategies[1].problems[0];
  EXPECT_EQ(problem.code, ErrorCode::kStrategyIllegal);
  EXPECT_EQ(problem.field + "|" + problem.message + "|" + problem.hint + "|" + problem.place.file,
            "ulysses|16 ranks exceed 4 heads|use 4|a.toml");
  EXPECT_EQ(problem.place.line, 3);
  EXPECT_EQ(problem.place.column, 5);
}

TEST_F(Store, KeepsRuns) {
  const StoreReader reader(path_);
  const std::vector<RunRecord> runs = reader.runs(reader.strategies()[0].strategy_id);
  ASSERT_EQ(runs.size(), 1u);
  const auto fields = [](const RunRecord& r) {
    return std::tuple(r.layer, r.denoise_step, r.mesh, r.provenance, r.planning_ns, r.density, r.tiles,
                      r.tiles_redundant, r.moved_fraction, r.parameter_bytes, r.bound_ns, r.makespan_low_ns,
                      r.makespan_high_ns, r.planned_imbalance_ratio, r.decided, r.verdict, r.max_error, r.error_metric);
  };
  const RunRecord& r = runs[0];
  EXPECT_EQ(fields(r), fields(sample_run(r.strategy_id, *r.plan_id)));
  EXPECT_EQ(reader.usage(r.run_id), (std::vector<RankUsage>{{0, 9.25, 100, 64, 32, 0, 3, 444, 555, true, 77},
                                                            {1, 8, 90, 0, 0, 64, 0, 1, 0, true},
                                                            {2, 0, 0, 0, 0, 32, 0, 1, 0, true},
                                                            {3, 0, 0, 0, 0, 0, 0, 1, 0, true}}));
  EXPECT_EQ(reader.traffic(r.run_id), (std::vector<Traffic>{{0, 1, "k", 2, 64}, {0, 2, "v", 1, 32}}));
  EXPECT_TRUE(reader.runs(reader.strategies()[1].strategy_id).empty());
}

TEST_F(Store, KeepsPlanAndTimelines) {
  const StoreReader reader(path_);
  const RunRecord run = reader.runs(reader.strategies()[0].strategy_id)[0];
  const Plan plan = sample_plan();
  EXPECT_EQ(plan_hash(reader.plan(*run.plan_id)), plan_hash(plan));
  const std::vector<RepeatRecord> repeats = reader.repeats(run.run_id);
  ASSERT_EQ(repeats.size(), 3u);
  EXPECT_LT(repeats[0].begin_ns + repeats[0].makespan_ns, repeats[1].begin_ns);
  EXPECT_EQ(repeats[2].makespan_ns, 777);
  EXPECT_FALSE(reader.timeline(run.run_id, 2).has_value());
  for (int i = 0; i < 2; ++i) {
    const Timeline expected = sample_timeline(plan, static_cast<std::uint64_t>(i));
    const std::optional<Timeline> timeline = reader.timeline(run.run_id, i);
    ASSERT_TRUE(timeline.has_value());
    EXPECT_EQ(repeats[static_cast<std::size_t>(i)].makespan_ns, expected.makespan_ns());
    ASSERT_EQ(timeline->ops.size(), expected.ops.size());
    for (std::size_t op = 0; op < expected.ops.size(); ++op) {
      const auto times = [&](const Timeline& t) {
        return std::tie(t.ops[op].post_ns, t.ops[op].begin_ns, t.ops[op].end_ns);
      };
      EXPECT_EQ(times(*timeline), times(expected)) << op;
    }
  }
}

TEST_F(Store, KeepsMasks) {
  const StoreReader reader(path_);
  const std::vector<MaskPlace> places = reader.mask_places(reader.workloads()[0].workload_id);
  ASSERT_EQ(places.size(), 2u);
  EXPECT_EQ(places[0], (MaskPlace{3, 1, AttendedAxis::kInner, places[0].mask_id}));
  EXPECT_EQ(places[1], (MaskPlace{4, 1, AttendedAxis::kOuter, places[1].mask_id}));
  const MaskRecord bits = reader.mask_record(places[0].mask_id), recipe = reader.mask_record(places[1].mask_id);
  EXPECT_EQ(bits.hash, sample_mask().hash());
  EXPECT_EQ(bits.recipe, "");
  EXPECT_EQ(recipe.recipe, "pattern = \"sparge\"");
  EXPECT_EQ(reader.mask_bits(places[0].mask_id)->hash(), bits.hash);
  EXPECT_FALSE(reader.mask_bits(places[1].mask_id).has_value());
  EXPECT_EQ(reader.thumbnails(places[1].mask_id).size(), 4u);
}

TEST_F(Store, NamesWhatItDoesNotHold) {
  const StoreReader reader(path_);
  const Error error = testing::error_of([&] { reader.plan(PlanId{99}); });
  EXPECT_EQ(error.code(), ErrorCode::kStoreCorrupt);
  EXPECT_NE(std::string(error.what()).find("no such plan"), std::string::npos) << error.what();
}

TEST_F(Store, SameContentIsStoredOnce) {
  TemporaryFolder folder;
  StoreWriter writer(folder / "a.db");
  EXPECT_EQ(writer.add_plan(sample_plan()), writer.add_plan(sample_plan()));
  EXPECT_NE(writer.add_plan(sample_plan()), writer.add_plan(sample_plan(2, "ring")));
  EXPECT_EQ(writer.add_mask(sample_mask(), ""), writer.add_mask(sample_mask(), "again"));
}

// Python's sqlite3 module is a program of somebody else: it opens the file as it is and finds it sound.
TEST_F(Store, OtherProgramsReadIt) {
  const std::string script =
      "import sqlite3, sys; db = sqlite3.connect('file:' + sys.argv[1] + '?mode=ro', uri=True); "
      "assert db.execute('PRAGMA integrity_check').fetchone()[0] == 'ok'; "
      "assert db.execute('PRAGMA journal_mode').fetchone()[0] == 'delete'; "
      "assert db.execute('PRAGMA foreign_key_check').fetchall() == []; "
      "assert db.execute('PRAGMA application_id').fetchone()[0] == int.from_bytes(b'SPSC', 'big'); "
      "assert db.execute('SELECT id FROM strategy ORDER BY 1').fetchall() == [('ulysses-16',), ('usp-2',)]; "
      "assert db.execute('SELECT sum(count) FROM chunk').fetchone()[0] > 50";
  EXPECT_EQ(std::system(("'" SPSCOPE_PYTHON "' -c \"" + script + "\" '" + path_ + "'").c_str()), 0);
}

}  // namespace
}  // namespace spscope
