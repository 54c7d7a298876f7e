// What the store's tests share: a folder that goes away, a plan with a timeline, and a store that has a row everywhere.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <stdlib.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "backend/base/rng.h"
#include "backend/plan/request.h"
#include "backend/store/store_reader.h"
#include "backend/store/store_writer.h"
#include "backend/strategies/strategy.h"
#include "tests/support/temporary_folder.h"

namespace spscope::testing {

using spscope::TemporaryFolder;

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// CRC-32C as its definition has it, bit by bit.
inline std::uint32_t plain_crc32c(std::span<const std::uint8_t> bytes) {
  std::uint32_t crc = ~0u;
  for (const std::uint8_t byte : bytes) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? crc >> 1 ^ 0x82f63b78u : crc >> 1;
  }
  return ~crc;
}

// Changes a file as any other program with SQLite could.
inline void tamper(const std::string& path, const std::string& sql) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  char* message = nullptr;
  EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &message), SQLITE_OK) << message;
  sqlite3_free(message);
  sqlite3_close(db);
}

// The code of the Error that `function` throws; kInternal with a failed expectation when it throws none.
template <typename Function>
Error error_of(Function&& function) {
  try {
    function();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return Error(ErrorCode::kInternal, "nothing was thrown");
}

inline BlockMask sample_mask(int heads = 4, std::int32_t tokens = 250, std::int32_t block = 16,
                             std::uint64_t seed = 7) {
  BlockMask mask(heads, BlockMask::uniform_starts(tokens, block));
  Rng rng(seed);
  for (int h = 0; h < heads; ++h)
    for (std::int32_t q = 0; q < mask.blocks(); ++q)
      for (std::int32_t k = 0; k < mask.blocks(); ++k) mask.set(h, q, k, q == k || rng.uniform() < 0.4);
  return mask;
}

inline Plan sample_plan(int ranks = 4, std::string_view strategy = "usp", int ulysses = 2) {
  const Request request = Request::attention(ranks, 4, 8, sample_mask());
  const Strategy& found = *find_strategy(strategy);
  Parameters parameters(found.parameters());
  if (strategy == "usp") {
    parameters.set("ulysses", std::int64_t{ulysses});
    parameters.set("ring", std::int64_t{ranks / ulysses});
  }
  return make_plan(found, request, parameters);
}

// Times in the order of the posts, with instants, waits, and communication that overlaps compute.
inline Timeline sample_timeline(const Plan& plan, std::uint64_t seed) {
  Rng rng(seed);
  Timeline timeline;
  std::vector<std::int64_t> clock(static_cast<std::size_t>(plan.ranks), 0);
  for (const Op& op : plan.ops) {
    std::int64_t& now = clock[static_cast<std::size_t>(op.rank)];
    OpTimes times;
    times.post_ns = now;
    times.begin_ns = now + (communicates(plan.kind_of(op)) ? rng.below(50) : 0);
    times.end_ns = times.begin_ns + (rng.below(4) == 0 ? 0 : rng.below(1000));
    if (!communicates(plan.kind_of(op))) now = times.end_ns;
    timeline.ops.push_back(times);
  }
  return timeline;
}

inline WorkloadRecord sample_workload() {
  WorkloadRecord w;
  w.config_toml = "[run]\nmode = \"execute\"\n";
  w.config_hash = "00ff";
  w.cluster_toml = "name = \"local\"\n";
  w.model = "wan-mini", w.pattern = "sparge", w.cluster = "local", w.scope = "attention";
  w.tokens = 250, w.text_tokens = 10, w.blocks = 16;
  w.heads = 4, w.head_dim = 8, w.batch = 2, w.layers = 1, w.denoise_steps = 1, w.model_layers = 30;
  w.forward_passes = 2, w.ranks = 4, w.nodes = 2, w.gpus_per_node = 2, w.data_parallel = 1;
  w.guidance = 2, w.combine_bytes = 4096, w.combine_ns = 77;
  w.dtype = Dtype::kFp32;
  return w;
}

inline StrategyRecord sample_strategy(WorkloadId workload) {
  StrategyRecord s;
  s.workload_id = workload;
  s.id = "usp-2", s.name = "usp", s.label = "usp u2 r2", s.mode = RunMode::kProject, s.device = "cpu",
  s.backend = "threads";
  s.parameters.set("ulysses", std::int64_t{2});
  s.parameters.set("order", std::string("cyclic"));
  s.parameters.set("share", 0.1);
  s.parameters.set("overlap", true);
  s.rank_map = {0, 0, 1, 1};
  s.meshes = {{4, 1, {{0, 1, 2, 3}}, {{0}, {1}, {2}, {3}}}, {2, 2, {{0, 1}, {2, 3}}, {{0, 2}, {1, 3}}}};
  return s;
}

inline RunRecord sample_run(StrategyId strategy, PlanId plan) {
  RunRecord r;
  r.strategy_id = strategy, r.layer = 3, r.denoise_step = 1, r.mesh = 1, r.plan_id = plan;
  r.provenance = {Source::kMeasured, Source::kModelled, Timing::kOversubscribed};
  r.planning_ns = 1234, r.density = 0.5, r.tiles = 17.25, r.tiles_redundant = 1.5, r.moved_fraction = 0.75;
  r.parameter_bytes = 99, r.bound_ns = 4321, r.makespan_low_ns = 4400, r.makespan_high_ns = 9800,
  r.planned_imbalance_ratio = 1.125, r.decided = true;
  r.verdict = Verdict::kPassed, r.max_error = 1e-6, r.error_metric = "nmse";
  return r;
}

// One legal strategy with two repeats, one illegal one, one mask of each kind.
inline void write_sample(const std::string& path, const WriteOptions& options, const Plan& plan) {
  StoreWriter writer(path, options);
  const std::vector<MachineFact> machine = {{"cpu", "a cpu"}, {"cores", "2"}};
  writer.add_machine(machine);
  const WorkloadId workload = writer.add_workload(sample_workload());
  const StoredMaskId bits = writer.add_mask(sample_mask(), "");
  const StoredMaskId recipe = writer.add_mask(sample_mask(4, 250, 16, 8), "pattern = \"sparge\"");
  writer.place_mask(workload, {3, 1, AttendedAxis::kInner, bits});
  writer.place_mask(workload, {4, 1, AttendedAxis::kOuter, recipe});
  const StrategyId strategy = writer.add_strategy(sample_strategy(workload));
  StrategyRecord illegal;
  illegal.workload_id = workload;
  illegal.id = "ulysses-16", illegal.name = "ulysses", illegal.label = "ulysses u16", illegal.device = "cuda",
  illegal.backend = "threads";
  illegal.problems = {{ErrorCode::kStrategyIllegal, "ulysses", "16 ranks exceed 4 heads", "use 4", {"a.toml", 3, 5}}};
  writer.add_strategy(illegal);
  const PlanId plan_id = writer.add_plan(plan);
  const RunRecord record = sample_run(strategy, plan_id);
  const RunId run = writer.add_run(record);
  const std::vector<RankUsage> usage = {{0, 9.25, 100, 64, 32, 0, 3, 444, 555, true, 77},
                                        {1, 8, 90, 0, 0, 64, 0, 1, 0, true},
                                        {2, 0, 0, 0, 0, 32, 0, 1, 0, true},
                                        {3, 0, 0, 0, 0, 0, 0, 1, 0, true}};
  writer.add_usage(run, usage);
  const std::vector<Traffic> traffic = {{0, 1, "k", 2, 64}, {0, 2, "v", 1, 32}};
  writer.add_traffic(run, traffic);
  for (int i = 0; i < 2; ++i) {
    const Timeline timeline = sample_timeline(plan, static_cast<std::uint64_t>(i));
    writer.add_repeat(run, {.repeat = i, .makespan_ns = timeline.makespan_ns()}, plan, timeline, record.provenance);
  }
  writer.add_repeat(run, {.repeat = 2, .makespan_ns = 777});
  writer.finish();
}
inline void write_sample(const std::string& path, const WriteOptions& options = {}) {
  write_sample(path, options, sample_plan());
}

}  // namespace spscope::testing
