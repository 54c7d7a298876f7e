#include "backend/store/observed_run.h"

#include <fmt/format.h>

#include "backend/base/bytes.h"
#include "backend/base/utf8.h"
#include "backend/store/sqlite/sqlite.h"
#include "backend/store/store_reader.h"
#include "backend/store/store_writer.h"

namespace spscope {

namespace {

// "python3" of "/usr/bin/python3 train.py --steps 9".
std::string program_name(const std::string& command) {
  const std::string path = command.substr(0, command.find(' '));
  return path.substr(path.find_last_of('/') + 1);
}

// What was measured: all of it.
RunRecord record_of(StrategyId strategy) {
  RunRecord record;
  record.strategy_id = strategy;
  record.provenance = {Source::kMeasured, Source::kMeasured, Timing::kClean};
  return record;
}

}  // namespace

std::string ObservedRun::short_command() const {
  constexpr std::size_t kMost = 200;
  const std::string_view first = first_characters(command, kMost);
  return std::string(first) + (first.size() < command.size() ? "…" : "");
}

RunId begin_observed_run(StoreWriter& writer, const std::string& command) {
  const std::string text = clean_text(command).text;
  WorkloadRecord workload;
  workload.config_toml = text;
  const std::span bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  workload.config_hash = fmt::format("{:08x}", crc32c(bytes));
  workload.model = program_name(text);
  workload.scope = "observed";
  StrategyRecord strategy;
  strategy.workload_id = writer.add_workload(workload);
  strategy.id = strategy.name = "observed";
  strategy.label = workload.model;
  strategy.mode = RunMode::kObserved;
  strategy.meshes = {{.ulysses = 0, .ring = 0}};  // not known
  return writer.begin_run(record_of(writer.add_strategy(strategy)));
}

void end_observed_run(StoreWriter& writer, const ObservedRun& ended) {
  Database& db = writer.database();
  Statement(db,
            "UPDATE workload SET ranks = ?2, nodes = ?3 WHERE workload_id = (SELECT workload_id FROM strategy "
            "JOIN run USING (strategy_id) WHERE run_id = ?1)")
      .run(ended.run, ended.ranks, ended.nodes);
  writer.finish_run(ended.run, record_of({}));
  writer.add_repeat(ended.run, {.begin_ns = ended.begin_ns, .makespan_ns = ended.end_ns - ended.begin_ns});
}

std::vector<ObservedRun> observed_runs(const StoreReader& reader) {
  std::vector<ObservedRun> observed;
  const std::vector<StrategyRecord> strategies = reader.strategies();
  for (const WorkloadRecord& workload : reader.workloads())
    for (const StrategyRecord& strategy : strategies) {
      if (strategy.workload_id != workload.workload_id || strategy.mode != RunMode::kObserved) continue;
      for (const RunRecord& run : reader.runs(strategy.strategy_id)) {
        const std::vector<RepeatRecord> repeats = reader.repeats(run.run_id);
        ObservedRun& o = observed.emplace_back(
            ObservedRun{run.run_id, workload.config_toml, workload.ranks, workload.nodes, run.finished});
        if (repeats.empty()) continue;
        o.begin_ns = repeats.front().begin_ns;
        o.end_ns = o.begin_ns + repeats.front().makespan_ns;
      }
    }
  return observed;
}

}  // namespace spscope
