// `spscope doctor [FILE]`: what this machine and this build can do, or whether a stored run is sound.
#include <fmt/format.h>
#include <fmt/ostream.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "backend/cli/build_facts.h"
#include "backend/cli/command.h"
#include "backend/cli/machine.h"
#include "backend/config/environment.h"
#include "backend/execute/execute.h"
#include "backend/mask/array_file.h"
#include "backend/store/store_reader.h"
#include "kernels/calibrate.h"

namespace spscope {
namespace {

using nlohmann::ordered_json;

struct Finding {
  std::string name, value;
  bool ok = true;
};

std::vector<Finding> machine_findings() {
  std::vector<Finding> list;
  for (const MachineFact& fact : machine_facts()) list.push_back({fact.name, fact.value});
  list.push_back({"fp32 peak", fmt::format("{:.0f} GFLOP/s a core, measured", kernels::measure_fma_gflop_per_s())});
  list.push_back({"memory copy", fmt::format("{:.1f} GB/s, measured", kernels::measure_copy_gbps())});
  list.push_back({"spscope", std::string(kVersion)});
  for (const BuildFact& fact : build_facts())
    list.push_back({std::string(fact.name), fact.value.empty() ? "-" : std::string(fact.value)});
  const std::string scratch = default_scratch_folder();
  list.push_back({"scratch files", scratch, access(scratch.c_str(), W_OK | X_OK) == 0});
  for (const Executor& executor : executors())
    list.push_back({fmt::format("ranks by {}", executor.name), std::string(executor.summary)});
  for (const MaskImporter& importer : mask_importers()) {
    const std::string_view why = importer.unavailable();
    list.push_back(
        {fmt::format(".{} files", importer.name), why.empty() ? "can be read" : std::string(why), why.empty()});
  }
  return list;
}

// Reads every part of a stored run once: damage shows as an error.
std::vector<Finding> file_findings(const std::string& path) {
  const StoreReader reader(path);
  std::int64_t plans = 0, timelines = 0, runs = 0, lost = 0, events = 0;
  for (const StrategyRecord& strategy : reader.strategies())
    for (const RunRecord& run : reader.runs(strategy.strategy_id)) {
      ++runs;
      if (run.plan_id) plans += !reader.plan(*run.plan_id).ops.empty();
      for (const RepeatRecord& repeat : reader.repeats(run.run_id))
        timelines += reader.timeline(run.run_id, repeat.repeat).has_value();
    }
  for (const LedgerRecord& row : reader.events().ledger()) {
    events += row.stored;
    lost += row.sent - row.stored;
  }
  return {{"file", path},
          {"schema",
           fmt::format("version {}, written by spscope {}", reader.file().schema_version, reader.file().tool_version)},
          {"runs", fmt::format("{} with {} plans and {} timelines, all readable", runs, plans, timelines)},
          {"events", fmt::format("{} stored, {} sent and not stored", events, lost), lost == 0}};
}

int doctor(CommandContext& context, const std::string& path) {
  const std::vector<Finding> findings = path.empty() ? machine_findings() : file_findings(path);
  if (context.json) {
    ordered_json list = ordered_json::array();
    for (const Finding& f : findings) list.push_back({{"name", f.name}, {"value", f.value}, {"ok", f.ok}});
    fmt::print(context.out, "{}\n", ordered_json{{"schema_version", 1}, {"findings", list}}.dump(2));
    return kExitDone;
  }
  for (const Finding& f : findings) fmt::print(context.out, "{} {:<20} {}\n", f.ok ? " " : "!", f.name, f.value);
  return kExitDone;
}

}  // namespace

CommandAction declare_doctor(CLI::App& app) {
  auto path = std::make_shared<std::string>();
  app.add_option("file", *path, "a stored run to check; without one, this machine and build");
  return [path](CommandContext& context) { return doctor(context, *path); };
}

}  // namespace spscope
