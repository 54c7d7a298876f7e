#include "backend/study/seeds.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <numeric>
#include <span>
#include <type_traits>

#include "backend/analysis/combine.h"
#include "backend/analysis/judgement.h"
#include "backend/analysis/layer_spread.h"
#include "backend/base/stop_point.h"
#include "backend/job/pick_settings.h"
#include "backend/job/plan_size.h"

namespace spscope {
namespace {

void add_reasons(StrategyResult& sum, const StrategyResult& s) {
  for (std::optional<TimeTerms> StrategyResult::*terms : {&StrategyResult::terms, &StrategyResult::path_terms}) {
    if (sum.*terms && s.*terms)
      *(sum.*terms) += *(s.*terms);
    else
      (sum.*terms).reset();
  }
  sum.probes.insert(sum.probes.end(), s.probes.begin(), s.probes.end());
  sum.attributions.clear();
  sum.rank_waits.insert(sum.rank_waits.end(), s.rank_waits.begin(), s.rank_waits.end());
  sum.rank_waits = joined_waits(std::move(sum.rank_waits));
  if (sum.heads_by_rank != s.heads_by_rank) sum.heads_by_rank.assign(sum.heads_by_rank.size(), "");
}

// What is no figure.
void add_result(StrategyResult& sum, const StrategyResult& s) {
  if (sum.problems.empty()) sum.problems = s.problems;
  for (const auto& [tensor, bytes] : s.bytes_by_tensor) sum.bytes_by_tensor[tensor] += bytes;
  add_reasons(sum, s);
  sum.by_layer.insert(sum.by_layer.end(), s.by_layer.begin(), s.by_layer.end());
}

// The figures of one strategy from those of each seed.
void set_figures(StrategyResult& together, std::span<const StrategyResult* const> seeds) {
  const auto set = [&](const FigureRow& row, auto of) {
    if (row.seeds == Combine::kOwn) return;
    std::vector<std::remove_cvref_t<decltype(of(together))>> values;
    for (const StrategyResult* seed : seeds) values.push_back(of(*seed));
    of(together) = combined(values, row.seeds);
  };
  for_each_figure(set);
  for_each_rank_figure(set);
  // What replicas make of such masks in turn.
  if (!together.end_to_end_ns) together.samples_per_hour.reset();
  if (together.samples_per_hour)
    *together.samples_per_hour *=
        static_cast<double>(seeds.front()->end_to_end_ns.value_or(0)) / static_cast<double>(*together.end_to_end_ns);
  set_layer_spread(together);
  together.over_layers.speedup.reset();  // passes of several seeds have one number
}

// The job with masks of each seed.
std::vector<Job> with_seeds(const Job& job, int seeds, const QuietRun& options) {
  std::vector<Job> jobs(static_cast<std::size_t>(seeds), job);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    jobs[i].config.mask.seed += i;
    jobs[i].mask_cache = options.mask_cache;
  }
  return jobs;
}

// What settings are picked on, of jobs with_seeds(). The requests refer to these jobs.
std::vector<Request> samples_of(std::vector<Job>&& jobs) = delete;
std::vector<Request> samples_of(const std::vector<Job>& jobs) {
  std::vector<Request> samples;
  for (const Job& job : jobs) {
    const ActivationSource activations(job);
    MaskSource masks(job, activations);
    for (Request& request : sample_requests(job, masks, std::max(1, kMostSamples / static_cast<int>(jobs.size()))))
      samples.push_back(std::move(request));
  }
  return samples;
}

// How long the runs of all seeds take to plan and schedule, where that is long.
std::string note_of_runs(const Job& job, std::span<const ChosenStrategy> strategies, const Request& sample, int seeds) {
  double seconds = 0;
  for (const ChosenStrategy& c : strategies)
    if (c.strategy->legal(sample, c.parameters).empty())
      seconds += plan_size(c.strategy->decide(sample, c.parameters), sample).seconds;
  const double passes = static_cast<double>(job.layers.size()) * job.config.run.denoise_steps * seeds;
  return planning_note("planning and scheduling", sample.ranks, seconds * passes);
}

void add_settings(const Job& job, std::span<const Request> samples, const SettingTest& passes, const PickOptions& pick,
                  std::vector<ChosenStrategy>& chosen) {
  const auto fails = [&](const ChosenStrategy& c) {
    return c.from_all && c.pick->settings > 0 && !passes(c.strategy->name, c.parameters);
  };
  Job others = job;
  others.may_pick = passes;
  std::erase_if(others.strategies, [&](const ChosenStrategy& other) {
    return std::ranges::none_of(chosen,
                                [&](const ChosenStrategy& c) { return c.strategy == other.strategy && fails(c); });
  });
  for (ChosenStrategy& other : pick_settings(others, samples, pick)) {
    if (!other.from_all || other.pick->settings == 0) continue;
    const auto is_same = [&](const ChosenStrategy& c) { return c.strategy == other.strategy; };
    const auto is_there = [&](const ChosenStrategy& c) { return is_same(c) && c.parameters == other.parameters; };
    if (std::ranges::none_of(chosen, is_there)) chosen.insert(std::ranges::find_if(chosen, is_same), std::move(other));
  }
  give_ids(chosen);
}

}  // namespace

int useful_seeds(const Job& job, int wanted) {
  const MaskConfig& mask = job.config.mask;
  const bool drawn =
      mask.file.empty() && job.config.model.activations.empty() && mask.pattern != "dense" && mask.density < 1;
  return drawn ? wanted : 1;
}

Job with_settings_of_seeds(const Job& job, int seeds, const QuietRun& options, const SettingTest& also) {
  const StopScope stops(&options.stop);
  Job picked = job;
  if (!has_unpicked(job)) return picked;
  const std::vector<Job> jobs = with_seeds(job, seeds, options);
  const std::vector<Request> samples = samples_of(jobs);
  const PickOptions pick{.interrupt = &options.stop};
  picked.strategies = pick_settings(job, samples, pick);
  add_settings(job, samples, also, pick, picked.strategies);
  return picked;
}

SeededRuns run_seeds(const Job& job, int seeds, const QuietRun& options, const SettingTest& also) {
  const StopScope stops(&options.stop);
  SeededRuns runs;
  std::vector<Job> jobs = with_seeds(job, seeds, options);
  for (const Job& j : jobs) runs.seeds.push_back(j.config.mask.seed);
  runs.strategies = job.strategies;
  if (has_unpicked(job)) {
    const std::vector<Request> samples = samples_of(jobs);
    PickOptions pick;
    pick.interrupt = &options.stop;
    pick.on_note = options.on_warning;
    runs.strategies = pick_settings(job, samples, pick);
    pick.on_note = {};
    if (also) add_settings(job, samples, also, pick, runs.strategies);
    if (const std::string note = note_of_runs(job, runs.strategies, samples.front(), seeds);
        options.on_warning && !note.empty())
      options.on_warning(note);
  }
  for (Job& j : jobs) j.strategies = runs.strategies;
  runs.by_seed = at_once(job, jobs.size(), jobs.size(), options,
                         [&](std::size_t i, const QuietRun& as) { return comparison_of(jobs[i], as); });
  runs.together = joined(runs.by_seed);
  return runs;
}

Comparison joined(const std::vector<Comparison>& comparisons) {
  Comparison all = comparisons.front();
  std::vector<std::optional<double>> densities;
  for (const Comparison& c : comparisons) densities.push_back(c.workload.density);
  all.workload.density = combined(densities, Combine::kMean);
  for (std::size_t s = 0; s < all.strategies.size(); ++s) {
    std::vector<const StrategyResult*> seeds;
    for (const Comparison& c : comparisons) seeds.push_back(&c.strategies[s]);
    for (std::size_t i = 1; i < seeds.size(); ++i) add_result(all.strategies[s], *seeds[i]);
    set_figures(all.strategies[s], seeds);
  }
  set_speedups(all.strategies);
  set_attributions(all);
  return all;
}

Spread spread_of(const std::vector<double>& values) {
  Spread spread;
  spread.count = static_cast<int>(values.size());
  if (values.empty()) return spread;
  spread.mean = std::accumulate(values.begin(), values.end(), 0.0) / spread.count;
  spread.least = *std::ranges::min_element(values);
  spread.most = *std::ranges::max_element(values);
  double squares = 0;
  for (const double v : values) squares += (v - spread.mean) * (v - spread.mean);
  if (spread.count > 1) spread.deviation = std::sqrt(squares / (spread.count - 1));
  return spread;
}

}  // namespace spscope
