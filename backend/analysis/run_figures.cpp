#include "backend/analysis/run_figures.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <ranges>
#include <set>
#include <type_traits>

#include "backend/analysis/combine.h"
#include "backend/analysis/critical_path.h"
#include "backend/analysis/trust.h"
#include "backend/base/median.h"

namespace spscope {
namespace {

std::vector<RepeatRecord> by_makespan(std::span<const RepeatRecord> repeats) {
  std::vector<RepeatRecord> sorted(repeats.begin(), repeats.end());
  std::ranges::stable_sort(sorted, {}, &RepeatRecord::makespan_ns);
  return sorted;
}

template <typename T>
void set_slowest_by(LayerResult& layer, const std::vector<T>& by_rank) {
  const double total = std::accumulate(by_rank.begin(), by_rank.end(), 0.0);
  if (total <= 0) return;
  const auto slowest = std::ranges::max_element(by_rank);
  layer.slowest_rank = static_cast<int>(slowest - by_rank.begin());
  layer.slowest_excess = static_cast<double>(*slowest) * static_cast<double>(by_rank.size()) / total - 1;
}

LayerResult layer_result(const StoredRun& run) {
  const RunRecord& record = run.record;
  LayerResult layer;
  layer.layer = record.layer;
  layer.denoise_step = record.denoise_step;
  layer.mesh = record.mesh;
  static_cast<RunFigures&>(layer) = record;
  if (const auto repeat = median_repeat(run.repeats)) layer.makespan_ns = repeat->makespan_ns;
  if (run.imbalance) set_imbalance(layer, *run.imbalance);
  layer.attention_launches = run.attention_launches;
  layer.decided = record.decided;
  layer.verify = verdict_name(record.verdict);
  layer.max_error = record.max_error;
  layer.messages = 0;
  std::vector<double> tiles;
  for (const RankUsage& rank : run.usage) {
    *layer.messages += rank.messages;
    tiles.push_back(rank.tiles);
  }
  set_slowest_by(layer, tiles);
  set_slowest_by(layer, run.times.compute_ns);
  return layer;
}

// How far the measured compute can be trusted. REQUIRES: times, attention_ns and tiles_by_rank are added up.
void add_trust(StrategyResult& result, const std::vector<std::int64_t>& attention_ns, std::span<const StoredRun> runs) {
  if (result.provenance->compute != Source::kMeasured) return;
  result.compute_deviation = compute_deviation(attention_ns, result.tiles_by_rank);
  if (result.mode != RunMode::kProject) return;
  double modelled_ns = 0;
  for (const StoredRun& run : runs) {
    if (!run.modelled_compute_ns) return;
    modelled_ns += *run.modelled_compute_ns;
  }
  const double measured_ns = std::accumulate(result.times.compute_ns.begin(), result.times.compute_ns.end(), 0.0);
  if (modelled_ns > 0 && measured_ns > 0) result.compute_scale = measured_ns / modelled_ns;
}

// The first repeats of all runs of a strategy added up, the second ones, and so on. The repeats of a run were back to
// back: what drifts from run to run is in all sums alike, and not in their spread.
std::vector<RepeatRecord> repeats_of_all(std::span<const StoredRun> runs) {
  if (runs.empty()) return {};
  std::size_t fewest = runs.front().repeats.size();
  for (const StoredRun& run : runs) fewest = std::min(fewest, run.repeats.size());
  std::vector<RepeatRecord> sums(fewest);
  for (const StoredRun& run : runs)
    for (std::size_t i = 0; i < fewest; ++i) sums[i].makespan_ns += run.repeats[i].makespan_ns;
  return sums;
}

// "5-9, 12", or how many where that would be long; "" when these are all heads.
std::string heads_text(const std::vector<bool>& has) {
  constexpr std::size_t kMostShown = 24;
  std::string text;
  std::size_t count = 0;
  for (std::size_t h = 0; h < has.size(); ++h) {
    if (!has[h]) continue;
    const std::size_t first = h;
    while (h + 1 < has.size() && has[h + 1]) ++h;
    count += h - first + 1;
    text += (text.empty() ? "" : ", ") + std::to_string(first) + (h > first ? "-" + std::to_string(h) : "");
  }
  if (count == has.size()) return "";
  return text.size() > kMostShown ? std::to_string(count) + " heads" : text;
}

std::vector<std::string> heads_by_rank(const Plan& plan) {
  const auto heads = static_cast<std::size_t>(plan.num_columns[static_cast<int>(Axis::kHeads)]);
  std::vector<std::vector<bool>> has(static_cast<std::size_t>(plan.ranks), std::vector<bool>(heads));
  for (const Op& op : plan.ops)
    if (plan.kind_of(op) == PostKind::kAttend)
      for (const Span& span : plan.sets->spans(op.heads))
        for (std::int32_t h = span.begin; h < span.end; ++h)
          has[static_cast<std::size_t>(op.rank)][static_cast<std::size_t>(h)] = true;
  std::vector<std::string> texts;
  for (const std::vector<bool>& of_rank : has) texts.push_back(heads_text(of_rank));
  return texts;
}

// How many of the first runs are one schedule: the layers of a denoise step, where a schedule made their times.
std::size_t num_scheduled_together(std::span<const StoredRun> runs) {
  std::size_t n = 1;
  const auto scheduled = [](const StoredRun& run) { return run.record.provenance.network == Source::kModelled; };
  if (!scheduled(runs.front())) return n;
  while (n < runs.size() && scheduled(runs[n]) && runs[n].record.denoise_step == runs.front().record.denoise_step) ++n;
  return n;
}

// REQUIRES: every run has its times.
void add_terms(StrategyResult& result, std::span<const StoredRun> runs) {
  TimeTerms sums, path;
  std::vector<RankWait> waits;
  result.heads_by_rank = runs.front().heads_by_rank;
  for (std::size_t first = 0; first < runs.size();) {
    std::vector<PassDetail> passes;
    for (const StoredRun& run : runs.subspan(first, num_scheduled_together(runs.subspan(first))))
      passes.push_back(run.detail);
    first += passes.size();
    const TimeDetail detail = joined_detail(passes);
    sums += detail.rank_sums;
    waits.insert(waits.end(), detail.waits.begin(), detail.waits.end());
    combine(result.waited_for_ns, detail.waited_for_ns, Combine::kSum);
  }
  for (const StoredRun& run : runs) {
    path += run.path_terms;
    if (run.heads_by_rank != result.heads_by_rank) result.heads_by_rank.assign(run.times.compute_ns.size(), "");
  }
  result.terms = mean_terms(sums, static_cast<int>(result.times.compute_ns.size()));
  result.path_terms = path;
  result.rank_waits = joined_waits(std::move(waits));
}

// With every range of the cluster at one end. A layer that no range concerns takes its time at both.
void add_range(StrategyResult& result, std::optional<std::int64_t> RunFigures::*end) {
  std::vector<std::optional<std::int64_t>> values;
  for (const LayerResult& pass : result.by_layer) values.push_back(pass.*end ? pass.*end : pass.makespan_ns);
  if (std::ranges::any_of(result.by_layer, [&](const LayerResult& pass) { return (pass.*end).has_value(); }))
    result.*end = combined(values, Combine::kSum);
}

void add_times(StrategyResult& result, std::span<const StoredRun> runs) {
  result.makespan_spread_ns = half_interquartile_range(repeats_of_all(runs));
  add_range(result, &RunFigures::makespan_low_ns);
  add_range(result, &RunFigures::makespan_high_ns);
  if (std::ranges::any_of(runs, [](const StoredRun& run) { return run.times.compute_ns.empty(); })) result.times = {};
  if (result.times.compute_ns.empty()) return;
  std::vector<std::int64_t> attention_ns;
  for (const StoredRun& run : runs) combine(attention_ns, run.attention_ns, Combine::kSum);
  result.attention_ns = *std::ranges::max_element(attention_ns);
  add_terms(result, runs);
  add_trust(result, attention_ns, runs);
}

void add_usage(StrategyResult& result, const StoredRun& run) {
  RankFigures ranks{.times = run.times};
  for (const RankUsage& rank : run.usage) {
    ranks.bytes_sent.push_back(rank.bytes_sent_intra_node + rank.bytes_sent_inter_node);
    ranks.bytes_sent_intra_node.push_back(rank.bytes_sent_intra_node);
    ranks.bytes_sent_inter_node.push_back(rank.bytes_sent_inter_node);
    ranks.bytes_received.push_back(rank.bytes_received);
    ranks.memory_peak_bytes.push_back(rank.memory_peak_bytes);
    ranks.tiles_by_rank.push_back(rank.tiles);
    result.bytes_counted = result.bytes_counted && rank.counted;
  }
  combine_pass(result, ranks);
  for (const Traffic& t : run.traffic) result.bytes_by_tensor[t.tensor] += t.bytes;
}

// Weights are the same at every denoise step of a layer.
std::int64_t weights_of_all_layers(std::span<const StoredRun> runs) {
  std::map<int, std::int64_t> by_layer;
  for (const StoredRun& run : runs)
    by_layer[run.record.layer] = std::max(by_layer[run.record.layer], run.record.parameter_bytes.value_or(0));
  std::int64_t sum = 0;
  for (const auto& [layer, num_bytes] : by_layer) sum += num_bytes;
  return sum;
}

void add_verdicts(StrategyResult& result, std::span<const StoredRun> runs) {
  const auto is = [](Verdict verdict) { return [verdict](const StoredRun& r) { return r.record.verdict == verdict; }; };
  const Verdict worst = std::ranges::any_of(runs, is(Verdict::kFailed))    ? Verdict::kFailed
                        : std::ranges::any_of(runs, is(Verdict::kSkipped)) ? Verdict::kSkipped
                                                                           : Verdict::kPassed;
  result.verify = verdict_name(worst);
  for (const StoredRun& run : runs) {
    if (!run.record.max_error) continue;
    const double error = *run.record.max_error;
    // NaN is the largest error there is: nothing compares above it.
    if (!result.max_error || std::isnan(error) || error > *result.max_error) result.max_error = error;
    result.error_metric = run.record.error_metric;
  }
}

// StrategyResult::replans; absent when the strategy never keeps a decision.
std::optional<int> count_replans(std::span<const LayerResult> layers) {
  std::set<int> steps;
  bool keeps = false;
  for (const LayerResult& layer : layers) {
    keeps = keeps || layer.decided.has_value();
    if (layer.decided.value_or(false)) steps.insert(layer.denoise_step);
  }
  if (!keeps) return std::nullopt;
  return steps.empty() ? 0 : static_cast<int>(steps.size()) - 1;
}

}  // namespace

void add_memory_need(MemoryNeed& need, const MemoryNeed& layer) {
  need.limit = layer.limit;
  need.uncounted = layer.uncounted;
  need.ranks.resize(std::max(need.ranks.size(), layer.ranks.size()));
  for (std::size_t r = 0; r < layer.ranks.size(); ++r)
    if (layer.ranks[r].total() > need.ranks[r].total()) need.ranks[r] = layer.ranks[r];
}

void set_slowest(LayerResult& layer, const std::vector<double>& tiles_by_rank) { set_slowest_by(layer, tiles_by_rank); }

void set_imbalance(RunFigures& figures, const ImbalanceRatios& ratios) {
  figures.imbalance_ratio = ratios.plain;
  figures.barrier_imbalance_ratio = ratios.barrier;
  figures.coupled_imbalance_ratio = ratios.coupled;
}

void combine_pass(RankFigures& all, const RankFigures& pass) {
  for_each_rank_figure([&](const FigureRow& figure, auto of) {
    if (figure.passes != Combine::kOwn) combine(of(all), of(pass), figure.passes);
  });
}

void combine_passes(StrategyResult& result) {
  for_each_figure([&](const FigureRow& figure, auto of) {
    if (figure.passes == Combine::kOwn) return;
    std::vector<std::remove_cvref_t<decltype(of(result))>> values;
    for (const LayerResult& pass : result.by_layer)
      if (of(pass) || figure.passes == Combine::kSum) values.push_back(of(pass));
    of(result) = combined(values, figure.passes);
  });
  result.replans = count_replans(result.by_layer);
}

std::optional<RepeatRecord> median_repeat(std::span<const RepeatRecord> repeats) {
  if (repeats.empty()) return std::nullopt;
  return by_makespan(repeats)[median_index(repeats.size())];
}

std::int64_t makespan_begin_ns(const Timeline& timeline, const RunProvenance& provenance, const RepeatRecord& repeat) {
  if (provenance.network == Source::kModelled) return repeat.lead_ns;
  const auto first = std::ranges::min_element(timeline.ops, {}, &OpTimes::post_ns);
  return first != timeline.ops.end() ? first->post_ns : 0;
}

std::optional<std::int64_t> half_interquartile_range(std::span<const RepeatRecord> repeats) {
  if (repeats.size() < 2) return std::nullopt;
  std::vector<std::int64_t> makespans;
  for (const RepeatRecord& repeat : by_makespan(repeats)) makespans.push_back(repeat.makespan_ns);
  return std::llround((quantile(makespans, 0.75) - quantile(makespans, 0.25)) / 2);
}

void add_timeline(StoredRun& run, const Plan& plan, const Timeline& timeline, const TimeModels& models) {
  if (timeline.ops.size() != plan.ops.size())
    throw Error(ErrorCode::kStoreCorrupt, "a timeline has " + std::to_string(timeline.ops.size()) +
                                              " operations and its plan " + std::to_string(plan.ops.size()));
  const bool scheduled = run.record.provenance.network == Source::kModelled;
  const auto repeat = scheduled ? median_repeat(run.repeats) : std::nullopt;
  run.attention_ns = attention_times(plan, timeline);
  run.detail =
      pass_detail(plan, timeline, models,
                  repeat ? PassTimes{repeat->makespan_ns, repeat->lead_ns} : PassTimes{timeline.makespan_ns(), 0});
  run.times = rank_times(run.detail);
  const CriticalPath path =
      critical_path(plan, timeline, scheduled ? 0 : INT64_MAX, models.network ? &*models.network : nullptr);
  run.path_terms = path_terms(plan, timeline, path, models, repeat ? repeat->lead_ns : INT64_MIN);
  run.heads_by_rank = heads_by_rank(plan);
  run.attention_launches =
      std::ranges::count_if(plan.ops, [&](const Op& op) { return plan.kind_of(op) == PostKind::kAttend; });
}

StrategyResult summarize(const StrategyRecord& strategy, std::span<const StoredRun> runs) {
  StrategyResult result(strategy);
  if (runs.empty()) return result;
  result.provenance = runs.front().record.provenance;
  result.repeats = static_cast<int>(runs.front().repeats.size());
  result.bytes_counted = true;
  for (const StoredRun& run : runs) {
    const RunRecord& record = run.record;
    // The least trustworthy of the runs speaks for all of them.
    result.provenance->compute = std::max(result.provenance->compute, record.provenance.compute);
    result.provenance->network = std::max(result.provenance->network, record.provenance.network);
    result.provenance->timing = std::max(result.provenance->timing, record.provenance.timing);
    result.repeats = std::min(result.repeats, static_cast<int>(run.repeats.size()));
    result.by_layer.push_back(layer_result(run));
    add_usage(result, run);
    add_memory_need(result.memory_need, run.memory);
  }
  combine_passes(result);
  result.parameter_bytes = weights_of_all_layers(runs);
  add_times(result, runs);
  add_verdicts(result, runs);
  return result;
}

}  // namespace spscope
