#include "backend/study/seeds.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <numeric>

#include "backend/analysis/judgement.h"
#include "backend/analysis/layer_spread.h"
#include "backend/base/stop_point.h"
#include "backend/job/pick_settings.h"
#include "backend/job/plan_size.h"

namespace spscope {
namespace {

void add(std::vector<std::int64_t>& sum, const std::vector<std::int64_t>& list) {
  if (sum.size() < list.size()) sum.resize(list.size(), 0);
  for (std::size_t i = 0; i < list.size(); ++i) sum[i] += list[i];
}

template <typename T>
void add(std::optional<T>& sum, const std::optional<T>& value) {
  if (sum && value) *sum += *value;
  if (!value) sum.reset();
}

void divide(std::optional<double>& sum, double by) {
  if (sum) *sum /= by;
}

void add_times(RankTimes& sum, const RankTimes& t) {
  add(sum.compute_ns, t.compute_ns);
  add(sum.wait_late_peer_ns, t.wait_late_peer_ns);
  add(sum.wire_ns, t.wire_ns);
  add(sum.other_ns, t.other_ns);
  add(sum.exposed_comm_ns, t.exposed_comm_ns);
}

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
  add(sum.waited_for_ns, s.waited_for_ns);
  if (sum.heads_by_rank != s.heads_by_rank) sum.heads_by_rank.assign(sum.heads_by_rank.size(), "");
  add(sum.attention_launches, s.attention_launches);
}

void add_result(StrategyResult& sum, const StrategyResult& s) {
  if (sum.problems.empty()) sum.problems = s.problems;
  add(sum.makespan_ns, s.makespan_ns);
  add(sum.makespan_low_ns, s.makespan_low_ns);
  add(sum.makespan_high_ns, s.makespan_high_ns);
  add(sum.attention_ns, s.attention_ns);
  add(sum.end_to_end_ns, s.end_to_end_ns);
  add(sum.end_to_end_spread_ns, s.end_to_end_spread_ns);
  add(sum.bound_ns, s.bound_ns);
  for (std::optional<double> StrategyResult::*ratio :
       {&StrategyResult::imbalance_ratio, &StrategyResult::barrier_imbalance_ratio,
        &StrategyResult::coupled_imbalance_ratio, &StrategyResult::planned_imbalance_ratio,
        &StrategyResult::moved_fraction, &StrategyResult::tiles, &StrategyResult::tiles_redundant})
    add(sum.*ratio, s.*ratio);
  add(sum.messages, s.messages);
  add(sum.bytes_sent, s.bytes_sent);
  add(sum.bytes_sent_intra_node, s.bytes_sent_intra_node);
  add(sum.bytes_sent_inter_node, s.bytes_sent_inter_node);
  add(sum.bytes_received, s.bytes_received);
  for (const auto& [tensor, bytes] : s.bytes_by_tensor) sum.bytes_by_tensor[tensor] += bytes;
  add_times(sum.times, s.times);
  add_reasons(sum, s);
  for (std::size_t r = 0; r < sum.memory_peak_bytes.size(); ++r)
    sum.memory_peak_bytes[r] = std::max(sum.memory_peak_bytes[r], s.memory_peak_bytes[r]);
  sum.by_layer.insert(sum.by_layer.end(), s.by_layer.begin(), s.by_layer.end());
}

// `first_ns`: end to end of the first seed, whose samples an hour the sum has.
void finish_sum(StrategyResult& sum, std::int64_t first_ns, double count) {
  for (std::optional<double> StrategyResult::*ratio :
       {&StrategyResult::imbalance_ratio, &StrategyResult::barrier_imbalance_ratio,
        &StrategyResult::coupled_imbalance_ratio, &StrategyResult::planned_imbalance_ratio,
        &StrategyResult::moved_fraction})
    divide(sum.*ratio, count);
  for (std::optional<std::int64_t> StrategyResult::*ns :
       {&StrategyResult::end_to_end_ns, &StrategyResult::end_to_end_spread_ns})
    if (sum.*ns) sum.*ns = std::llround(static_cast<double>(*(sum.*ns)) / count);
  // What replicas make of such masks in turn.
  if (!sum.end_to_end_ns) sum.samples_per_hour.reset();
  if (sum.samples_per_hour)
    *sum.samples_per_hour *= static_cast<double>(first_ns) / static_cast<double>(*sum.end_to_end_ns);
  set_layer_spread(sum);
  sum.over_layers.speedup.reset();  // passes of several seeds have one number
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
  const auto count = static_cast<double>(comparisons.size());
  for (std::size_t i = 1; i < comparisons.size(); ++i) {
    const Comparison& c = comparisons[i];
    for (std::size_t s = 0; s < all.strategies.size(); ++s) add_result(all.strategies[s], c.strategies[s]);
    add(all.workload.density, c.workload.density);
  }
  for (std::size_t s = 0; s < all.strategies.size(); ++s)
    finish_sum(all.strategies[s], comparisons.front().strategies[s].end_to_end_ns.value_or(0), count);
  divide(all.workload.density, count);
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
