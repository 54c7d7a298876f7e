#include "backend/analysis/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "backend/analysis/judgement.h"
#include "backend/analysis/layer_spread.h"
#include "backend/analysis/run_figures.h"
#include "backend/analysis/run_models.h"
#include "backend/analysis/whole_model.h"
#include "backend/config/cluster.h"
#include "backend/config/config_text.h"
#include "backend/config/model.h"
#include "backend/config/model_size.h"
#include "backend/schedule/cost.h"

namespace spscope {
namespace {

// By plan, since layers whose masks are equal share one: the coupled ratio takes a schedule.
struct PlanFigures {
  ImbalanceRatios ratios;
  MemoryNeed memory;
};
using FiguresByPlan = std::map<PlanId, PlanFigures>;

// What the file says of what a workload runs on; absent where that cannot be read.
struct Setting {
  std::optional<ClusterPreset> cluster;
  std::optional<Model> model;
  RunSection run;
  int guidance = 1;  // of the forward passes, how many run at once
};

// Compute of all ranks by a cost profile, in nanoseconds; each op is rounded up as in schedules.
double modelled_compute_ns(const Plan& plan, const KernelCostProfile& cost) {
  const std::vector<std::int64_t> durations = op_durations(plan, cost);
  return std::accumulate(durations.begin(), durations.end(), 0.0);
}

// No ranks when the file does not say what the model and the cluster are, or keeps no bound.
MemoryNeed memory_of_ranks(const Plan& plan, const std::vector<RankUsage>& usage, const Setting& setting) {
  std::vector<std::int64_t> activations;
  for (const RankUsage& rank : usage) activations.push_back(rank.memory_bound_bytes);
  const bool bounded = std::ranges::all_of(activations, [](std::int64_t bytes) { return bytes > 0; });
  if (!setting.model || !setting.cluster || !bounded || static_cast<int>(activations.size()) != plan.ranks) return {};
  return memory_need(plan, activations, *setting.model, setting.run, *setting.cluster, setting.guidance);
}

// The layer passes of a strategy that reasons rest on: up to 8 of those that it has, evenly, and fewer of so many ranks
// that scheduling them anew would take seconds. The same ones for every strategy of a workload.
class ProbedPasses {
 public:
  ProbedPasses(const WorkloadRecord& workload, const std::optional<ClusterPreset>& cluster, std::size_t runs)
      : workload_(workload), cluster_(cluster), runs_(runs) {
    constexpr std::int64_t kMost = 8, kPairsOfRanks = 16384;
    const std::int64_t ranks = std::max(1, workload.ranks);
    const auto most = static_cast<std::size_t>(std::clamp<std::int64_t>(kPairsOfRanks / (ranks * ranks), 1, kMost));
    wanted_ = std::min(runs, most);
  }

  // Runs come in their stored order.
  void add(const RunRecord& run, const Plan& plan, const Timeline& timeline) {
    const std::size_t number = number_++;
    if (wanted_ == 0 || number != next_ * runs_ / wanted_) return;
    ++next_;
    if (!cluster_ || run.provenance.network != Source::kModelled) return;
    if (!joins_nodes(*cluster_, plan.ranks, workload_.gpus_per_node)) return;
    if (steps_.empty() || step_ != run.denoise_step) {
      EditablePasses& step = steps_.emplace_back();
      step.cluster = *cluster_;
      step.gpus_per_node = workload_.gpus_per_node;
      step.ranks_in_use = plan.ranks * workload_.guidance * workload_.data_parallel;
      step.hosts = run.provenance.compute == Source::kModelled;
      step_ = run.denoise_step;
    }
    steps_.back().passes.push_back({plan, timeline});
  }

  // None unless all that are wanted were added.
  Probes take() {
    Probes probes;
    std::size_t passes = 0;
    for (EditablePasses& step : steps_) {
      passes += step.passes.size();
      probes.push_back(std::make_shared<const Probe>(std::move(step)));
    }
    return passes == wanted_ ? probes : Probes{};
  }

 private:
  const WorkloadRecord& workload_;
  const std::optional<ClusterPreset>& cluster_;
  std::size_t runs_, wanted_ = 0, number_ = 0, next_ = 0;
  std::vector<EditablePasses> steps_;
  int step_ = 0;
};

StoredRun load_run(const StoreReader& reader, const StrategyRecord& strategy, const RunRecord& record,
                   const WorkloadRecord& workload, const Setting& setting, FiguresByPlan& figures,
                   ProbedPasses& probed) {
  StoredRun run;
  run.record = record;
  run.usage = reader.usage(record.run_id);
  run.traffic = reader.traffic(record.run_id);
  run.repeats = reader.repeats(record.run_id);
  if (!record.plan_id) return run;
  const auto repeat = median_repeat(run.repeats);
  const auto timeline = repeat ? reader.timeline(record.run_id, repeat->repeat) : std::nullopt;
  auto known = figures.find(*record.plan_id);
  if (known == figures.end() || timeline) {
    const Plan plan = reader.plan(*record.plan_id);
    if (known == figures.end())
      known = figures
                  .emplace(*record.plan_id, PlanFigures{imbalance_ratios(plan, attended_area(plan)),
                                                        memory_of_ranks(plan, run.usage, setting)})
                  .first;
    if (timeline) {
      add_timeline(run, plan, *timeline, models_of(workload, strategy, record, plan.ranks, setting.cluster));
      probed.add(record, plan, *timeline);
    }
    const bool measured = record.provenance.compute == Source::kMeasured;
    if (timeline && measured && setting.cluster)
      run.modelled_compute_ns = modelled_compute_ns(plan, setting.cluster->cost);
  }
  run.imbalance = known->second.ratios;
  run.memory = known->second.memory;
  return run;
}

Workload describe(const WorkloadRecord& record) {
  Workload w{record, {}, {}, {}};
  if (const Model* model = find_model_preset(w.model)) w.model_denoise_steps = model->denoise_steps;
  const ReadConfig read = parse_config(w.config_toml, "config");
  if (const int steps = read.config.model.denoise_steps; steps > 0) w.model_denoise_steps = steps;
  return w;
}

Setting setting_of(const WorkloadRecord& record) {
  Setting setting;
  setting.guidance = record.guidance;
  setting.cluster = stored_cluster(record);
  const ReadConfig read = parse_config(record.config_toml, "");
  std::vector<Problem> problems = read.problems;
  Model model = resolve_model(read.config.model, problems);
  if (!problems.empty()) return setting;
  setting.model = std::move(model);
  setting.run = read.config.run;
  return setting;
}

// One pair and channel is 4 FLOPs (cluster.h), so 4 / ns is GFLOP/s.
ClusterFigures figures_of(const ClusterPreset& cluster) {
  constexpr double kFlopsOfAPairChannel = 4, kGigaOfATera = 1000;
  ClusterFigures figures;
  figures.device_tflops = cluster.device.dense_bf16_tflops;
  if (cluster.cost.attend_ns_per_pair_channel > 0)
    figures.attention_tflops = kFlopsOfAPairChannel / cluster.cost.attend_ns_per_pair_channel / kGigaOfATera;
  figures.memory_gbps = cluster.device.memory_gbps;
  figures.link_gbps = cluster.network.link_gbps;
  figures.nic_gbps = cluster.network.nic_gbps;
  figures.compute_from = provenance_name(cluster.cost.provenance);
  figures.network_from = provenance_name(cluster.network.provenance);
  figures.outside_from = provenance_name(cluster.outside.provenance);
  figures.gpu = cluster.gpu;
  figures.attention_kernel = cluster.attention_kernel;
  figures.implementation = cluster.implementation;
  return figures;
}

// Of a double-stream layer a token passes one of two streams.
double rest_of_layer_ns(const Model& model, const ClusterPreset& cluster, int ranks) {
  const ModelSize size = model_size(model);
  const int streams = model.layers + (model.family == ModelFamily::kMmdit ? model.first_single_layer() : 0);
  const double flops = 2.0 * static_cast<double>(size.attention + size.ffn) / streams *
                       static_cast<double>(model.tokens() * model.batch);
  return cluster.cost.gemm_ns_per_flop * flops / ranks;
}

using RunsByStrategy = std::map<StrategyId, std::vector<RunRecord>>;

// Tells how many layer passes of all that will be read were.
class Counted {
 public:
  Counted(const OnRun& on_run, std::int64_t all) : on_run_(on_run), all_(all) {}
  void add_one() {
    if (on_run_) on_run_(++done_, all_);
  }

 private:
  const OnRun& on_run_;
  std::int64_t done_ = 0, all_ = 0;
};

// The finished runs of the legal strategies of a workload that every one of them has for the layer and denoise step: a
// run that was stopped or has lost a rank must not make one strategy look faster than another.
RunsByStrategy common_runs(const StoreReader& reader, const std::vector<StrategyRecord>& strategies,
                           WorkloadId workload) {
  using Place = std::pair<int, int>;
  RunsByStrategy runs;
  std::map<Place, std::size_t> finished_by;
  for (const StrategyRecord& strategy : strategies) {
    if (strategy.workload_id != workload || !strategy.legal()) continue;
    for (RunRecord& run : runs[strategy.strategy_id] = reader.runs(strategy.strategy_id))
      finished_by[{run.layer, run.denoise_step}] += run.finished;
  }
  for (auto& [strategy, records] : runs)
    std::erase_if(records, [&](const RunRecord& run) {
      return finished_by.at({run.layer, run.denoise_step}) != runs.size();
    });
  return runs;
}

// Of programs that were observed, which have no strategy to compare, nothing.
std::vector<StrategyRecord> planned_strategies(const StoreReader& reader) {
  std::vector<StrategyRecord> strategies = reader.strategies();
  std::erase_if(strategies, [](const StrategyRecord& s) { return s.mode == RunMode::kObserved; });
  return strategies;
}
std::vector<WorkloadRecord> planned_workloads(const StoreReader& reader) {
  std::set<WorkloadId> observed;
  for (const StrategyRecord& s : reader.strategies())
    if (s.mode == RunMode::kObserved) observed.insert(s.workload_id);
  std::vector<WorkloadRecord> workloads = reader.workloads();
  std::erase_if(workloads, [&](const WorkloadRecord& w) { return observed.contains(w.workload_id); });
  return workloads;
}

// Every legal strategy has the same number of them.
std::optional<int> layer_passes_done(const std::vector<StrategyResult>& strategies) {
  std::optional<int> done;
  for (const StrategyResult& s : strategies)
    if (s.legal()) done = std::max(done.value_or(0), static_cast<int>(s.by_layer.size()));
  return done;
}

// Every legal strategy has the same layer passes, so those of one tell it.
std::optional<double> mean_density(const std::vector<StrategyResult>& strategies) {
  for (const StrategyResult& s : strategies) {
    if (s.by_layer.empty()) continue;
    double sum = 0;
    for (const LayerResult& layer : s.by_layer) sum += layer.density.value_or(0);
    return sum / static_cast<double>(s.by_layer.size());
  }
  return std::nullopt;
}

// Whether its time is valid: it ran, and did not compute a wrong result.
bool counts(const StrategyResult& s) { return s.legal() && s.makespan_ns && s.verify != "failed"; }

bool comparable(const StrategyResult& s) { return counts(s) && s.provenance && s.provenance->timing == Timing::kClean; }

}  // namespace

Recording recording_of(const StoreReader& reader) {
  Recording recording;
  for (const LedgerRecord& row : reader.events().ledger()) {
    recording.events_sent += row.sent;
    recording.events_stored += row.stored;
    recording.dropped += row.dropped;
    recording.unreadable += row.unreadable;
    recording.lost += row.lost;
  }
  for (const IncidentRecord& incident : reader.incidents()) {
    SentenceBuilder sentence;
    if (incident.rank >= 0) sentence.name("rank " + std::to_string(incident.rank), {.rank = incident.rank}).add(", ");
    recording.incidents.push_back(
        sentence.add(incident_kind_name(incident.kind)).add(": ").add(incident.message).take());
  }
  return recording;
}

const StrategyResult* baseline(const std::vector<StrategyResult>& strategies, RunMode mode) {
  const StrategyResult *first = nullptr, *ulysses = nullptr, *usp = nullptr, *ring = nullptr;
  bool asked = false;  // for Ulysses
  const auto take_faster = [](const StrategyResult*& found, const StrategyResult& s) {
    if (found == nullptr || *s.makespan_ns < *found->makespan_ns) found = &s;
  };
  for (const StrategyResult& s : strategies) {
    if (s.mode != mode) continue;
    asked = asked || s.name == "ulysses";
    if (!counts(s)) continue;
    if (first == nullptr) first = &s;
    if (ulysses == nullptr && s.name == "ulysses") ulysses = &s;
    if (s.name == "usp") take_faster(usp, s);
    if (s.name == "ring") take_faster(ring, s);
  }
  if (ulysses != nullptr || !asked) return ulysses != nullptr ? ulysses : first;
  return usp != nullptr ? usp : ring != nullptr ? ring : first;
}

void set_speedups(std::vector<StrategyResult>& strategies) {
  for (StrategyResult& s : strategies) {
    s.speedup.reset();
    const StrategyResult* first = baseline(strategies, s.mode);
    if (!first || !comparable(*first) || !comparable(s) || *s.makespan_ns == 0) continue;
    s.speedup = static_cast<double>(*first->makespan_ns) / static_cast<double>(*s.makespan_ns);
  }
}

std::vector<Comparison> compare_store(const StoreReader& reader, const OnRun& on_run) {
  std::vector<Comparison> comparisons;
  const std::vector<StrategyRecord> strategies = planned_strategies(reader);
  const std::vector<WorkloadRecord> workloads = planned_workloads(reader);
  const Recording recording = recording_of(reader);
  std::vector<RunsByStrategy> runs_of_workloads;
  std::int64_t num_runs = 0;
  for (const WorkloadRecord& workload : workloads) {
    runs_of_workloads.push_back(common_runs(reader, strategies, workload.workload_id));
    for (const auto& [strategy, runs] : runs_of_workloads.back()) num_runs += std::ssize(runs);
  }
  Counted counted(on_run, num_runs);
  FiguresByPlan figures;
  for (std::size_t w = 0; w < workloads.size(); ++w) {
    const WorkloadRecord& workload = workloads[w];
    Comparison c;
    c.tool_version = reader.file().tool_version;
    c.created_utc = reader.file().created_utc;
    c.file = reader.path();
    c.config_hash = workload.config_hash;
    for (const MachineFact& fact : reader.machine()) c.machine.push_back({fact.name, fact.value});
    c.workload = describe(workload);
    c.recording = recording;
    const Setting setting = setting_of(workload);
    if (setting.cluster) c.cluster = figures_of(*setting.cluster);
    if (setting.cluster && setting.model && workload.scope == choice_name(RunScope::kAttention))
      c.cluster->rest_of_layer_ns = rest_of_layer_ns(*setting.model, *setting.cluster, workload.ranks);
    for (const StrategyRecord& strategy : strategies) {
      if (strategy.workload_id != workload.workload_id) continue;
      std::vector<StoredRun> runs;
      const std::vector<RunRecord>& records = runs_of_workloads[w][strategy.strategy_id];
      ProbedPasses probed(workload, setting.cluster, records.size());
      for (const RunRecord& record : records) {
        runs.push_back(load_run(reader, strategy, record, workload, setting, figures, probed));
        counted.add_one();
      }
      StrategyResult result = summarize(strategy, runs);
      result.probes = probed.take();
      set_layer_spread(result);
      if (setting.cluster && result.mode == RunMode::kSimulate)
        result.outside_layers_ns = outside_layers_ns(c.workload, *setting.cluster);
      set_whole_model(result, c.workload);
      c.strategies.push_back(std::move(result));
    }
    c.workload.density = mean_density(c.strategies);
    c.workload.layer_passes_done = layer_passes_done(c.strategies);
    set_speedups(c.strategies);
    set_speedup_spread(c.strategies);
    set_attributions(c);
    comparisons.push_back(std::move(c));
  }
  return comparisons;
}

std::vector<StrategyMakespan> makespans(const StoreReader& reader) {
  std::vector<StrategyMakespan> list;
  const std::vector<StrategyRecord> strategies = planned_strategies(reader);
  for (const WorkloadRecord& workload : reader.workloads()) {
    RunsByStrategy runs = common_runs(reader, strategies, workload.workload_id);
    for (const StrategyRecord& strategy : strategies) {
      if (strategy.workload_id != workload.workload_id || !strategy.legal()) continue;
      StrategyMakespan& s = list.emplace_back();
      s.workload_id = workload.workload_id;
      s.id = strategy.id;
      s.label = strategy.label;
      const std::map<RunId, std::vector<RepeatRecord>> repeats = reader.repeats(strategy.strategy_id);
      std::int64_t sum_ns = 0, timed = 0;
      for (const RunRecord& run : runs[strategy.strategy_id]) {
        ++s.layer_passes;
        const auto of_run = repeats.find(run.run_id);
        const auto repeat = of_run == repeats.end() ? std::nullopt : median_repeat(of_run->second);
        if (!repeat) continue;
        ++timed;
        sum_ns += repeat->makespan_ns;
        if (!s.slowest || repeat->makespan_ns > s.slowest->makespan_ns)
          s.slowest = {run.layer, run.denoise_step, repeat->makespan_ns};
      }
      if (timed > 0 && timed == s.layer_passes) s.makespan_ns = sum_ns;
    }
  }
  return list;
}

}  // namespace spscope
