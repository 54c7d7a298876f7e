#include "gui/session/pass_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "backend/analysis/run_figures.h"

namespace spscope::gui {
namespace {

const StrategyRecord& strategy_of(const std::vector<StrategyRecord>& strategies, const std::string& id) {
  const auto found = std::ranges::find(strategies, id, &StrategyRecord::id);
  if (found == strategies.end())
    throw Error(ErrorCode::kUsage, fmt::format("the file has no strategy \"{}\"", id), "choose one in the line above");
  return *found;
}

std::string why_none(const PassData& pass) {
  if (!pass.plan) return "the file keeps no plan of this layer pass";
  if (!pass.repeat.has_timeline) return fmt::format("the file keeps no timeline of repeat {}", pass.repeat.repeat);
  return fmt::format("events of repeat {} are missing in the file", pass.repeat.repeat);
}

}  // namespace

void take_timeline(PassData& pass, Timeline stored) {
  const std::int64_t zero_ns = makespan_begin_ns(stored, pass.run.provenance, pass.repeat);
  for (OpTimes& t : stored.ops) t.post_ns -= zero_ns, t.begin_ns -= zero_ns, t.end_ns -= zero_ns;
  pass.zero_ns = zero_ns;
  pass.timeline = std::move(stored);
}

PassData load_pass(const StoreReader& reader, const std::string& strategy_id, int layer, int denoise_step,
                   std::optional<int> repeat) {
  const std::vector<StrategyRecord> strategies = reader.strategies();
  const StrategyRecord& strategy = strategy_of(strategies, strategy_id);
  const std::vector<RunRecord> runs = reader.runs(strategy.strategy_id);
  const auto run = std::ranges::find_if(
      runs, [&](const RunRecord& r) { return r.layer == layer && r.denoise_step == denoise_step; });
  if (run == runs.end())
    throw Error(ErrorCode::kUsage,
                fmt::format("{} has not run layer {} of denoise step {}", strategy.label, layer, denoise_step),
                "choose another layer pass in the line above");
  return load_pass(reader, strategy, *run, repeat);
}

PassData load_pass(const StoreReader& reader, const StrategyRecord& strategy, const RunRecord& run,
                   std::optional<int> repeat) {
  PassData pass;
  pass.run = run;
  pass.usage = reader.usage(run.run_id);
  pass.repeats = reader.repeats(run.run_id);
  for (const RepeatRecord& r : pass.repeats)
    if (r.has_timeline) pass.repeats_with_timeline.push_back(r.repeat);
  const auto median = median_repeat(pass.repeats);
  if (!median)
    throw Error(ErrorCode::kUsage, fmt::format("{} has no times of this layer pass", strategy.label),
                "it was planned, or stopped before the first repeat");
  pass.repeat = *median;
  for (const RepeatRecord& r : pass.repeats)
    if (r.repeat == repeat) pass.repeat = r;
  if (run.plan_id) pass.plan = std::make_shared<const Plan>(reader.plan(*run.plan_id));
  if (pass.plan && pass.repeat.has_timeline) pass.timeline = reader.timeline(run.run_id, pass.repeat.repeat);
  if (!pass.timeline) {
    pass.why_no_timeline = why_none(pass);
    return pass;
  }
  pass.times = rank_times(*pass.plan, *pass.timeline, pass.repeat.makespan_ns);
  TimeModels models;
  models.nodes = reader.nodes_of_ranks(strategy);
  pass.detail = time_detail(*pass.plan, *pass.timeline, models);
  take_timeline(pass, *std::exchange(pass.timeline, std::nullopt));
  return pass;
}

}  // namespace spscope::gui
