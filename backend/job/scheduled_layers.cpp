#include "backend/job/scheduled_layers.h"

#include <algorithm>

#include "backend/base/median.h"
#include "backend/schedule/memory.h"

namespace spscope {
namespace {

Network network_of(const Cluster& cluster, const ClusterPreset& preset) {
  return Network::of_cluster(preset, cluster.plan_ranks(), cluster.gpus_per_node, cluster.ranks);
}

std::vector<LayerPass> layers_of(std::span<const HeldPass> passes, std::size_t repeat) {
  std::vector<LayerPass> layers;
  for (const HeldPass& pass : passes)
    layers.push_back({&pass.planned->plan, pass.timed->compute_ns.at(repeat), &pass.timed->host});
  return layers;
}

std::int64_t median_makespan_ns(const TimedLayer& timed) {
  std::vector<std::int64_t> makespans;
  for (const ScheduledPass& pass : timed.repeats) makespans.push_back(pass.makespan_ns);
  return median(std::move(makespans));
}

// The repeat whose passes took the median time together.
std::size_t median_of(std::span<const HeldPass> passes) {
  std::vector<std::pair<std::int64_t, std::size_t>> totals(passes.front().timed->repeats.size());
  for (std::size_t repeat = 0; repeat < totals.size(); ++repeat) {
    totals[repeat].second = repeat;
    for (const HeldPass& pass : passes) totals[repeat].first += pass.timed->repeats.at(repeat).makespan_ns;
  }
  std::ranges::sort(totals);
  return totals[median_index(totals.size())].second;
}

}  // namespace

LayerScheduler::LayerScheduler(const Cluster& cluster) : network_(network_of(cluster, cluster.preset)) {
  if (cluster.preset.ranges.empty()) return;
  for (const auto& [name, range] : cluster.preset.ranges) host_ranges_ = host_ranges_ || name.starts_with("cost.host_");
  for (const RangeEnd end : {RangeEnd::kFast, RangeEnd::kSlow}) {
    const ClusterPreset preset = at_range_end(cluster.preset, end);
    ranged_.push_back({end, network_of(cluster, preset), preset.cost, {}});
  }
}

void LayerScheduler::meet() {
  leads_.clear();
  for (RangedNetwork& at : ranged_) at.leads.clear();
}

// The median repeat again at one end. Faster messages may hold others up and so delay a pass; then its own time is the
// nearer end.
void LayerScheduler::add_range(int strategy, std::span<const HeldPass> passes, std::span<const LayerPass> median,
                               RangedNetwork& at) {
  std::vector<LayerPass> layers(median.begin(), median.end());
  std::vector<HostTimes> hosts;
  hosts.reserve(layers.size());
  for (LayerPass& layer : layers) {
    if (!host_ranges_ || layer.host->issue_ns.empty()) continue;  // what is measured holds the host of this machine
    layer.host = &hosts.emplace_back(host_times(*layer.plan, at.cost));
  }
  ScheduledPasses scheduled = schedule_passes(layers, at.network, at.leads[strategy]);
  at.leads[strategy] = std::move(scheduled.leads);
  for (std::size_t i = 0; i < passes.size(); ++i) {
    TimedLayer& timed = *passes[i].timed;
    const std::int64_t own_ns = median_makespan_ns(timed), ns = scheduled.passes[i].makespan_ns;
    if (at.end == RangeEnd::kFast)
      timed.makespan_low_ns = std::min(own_ns, ns);
    else
      timed.makespan_high_ns = std::max(own_ns, ns);
  }
}

void LayerScheduler::schedule(int strategy, std::span<const HeldPass> passes) {
  if (passes.empty()) return;
  std::vector<RankLeads>& leads = leads_[strategy];
  const std::size_t repeats = passes.front().timed->compute_ns.size();
  leads.resize(repeats);
  for (std::size_t repeat = 0; repeat < repeats; ++repeat) {
    const std::vector<LayerPass> layers = layers_of(passes, repeat);
    ScheduledPasses scheduled = schedule_passes(layers, network_, leads[repeat]);
    leads[repeat] = std::move(scheduled.leads);
    for (std::size_t i = 0; i < passes.size(); ++i) {
      const std::vector<std::int64_t> peak = memory(passes[i].planned->plan, scheduled.passes[i].timeline);
      for (RankUsage& rank : passes[i].timed->usage)
        rank.memory_peak_bytes = std::max(rank.memory_peak_bytes, peak[static_cast<std::size_t>(rank.rank)]);
      passes[i].timed->repeats.push_back(std::move(scheduled.passes[i]));
    }
  }
  if (!ranged_.empty()) {
    const std::vector<LayerPass> median = layers_of(passes, median_of(passes));
    for (RangedNetwork& at : ranged_) add_range(strategy, passes, median, at);
  }
  for (const HeldPass& pass : passes) {
    pass.timed->compute_ns = {};
    pass.timed->host = {};
    if (pass.timed->makespan_low_ns == pass.timed->makespan_high_ns)
      pass.timed->makespan_low_ns = pass.timed->makespan_high_ns = std::nullopt;  // no range matters to it
  }
}

}  // namespace spscope
