#include "backend/analysis/whole_model.h"

#include <cmath>
#include <map>
#include <vector>

#include "backend/analysis/layer_spread.h"
#include "backend/config/model.h"

namespace spscope {
namespace {

constexpr double kHourNs = 3600e9;

// The layers of one kind that ran: the mean over denoise steps of each.
struct Kind {
  int layers = 0;              // of the whole model
  std::map<int, double> sums;  // of makespans, by layer
  std::map<int, int> counts;   // of passes, by layer
  std::vector<double> means() const {
    std::vector<double> list;
    for (const auto& [layer, sum] : sums) list.push_back(sum / counts.at(layer));
    return list;
  }
};

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

// Squared standard error of the sum over all layers of the kind.
std::optional<double> variance(const Kind& kind) {
  const std::vector<double> means = kind.means();
  const auto ran = static_cast<double>(means.size()), layers = static_cast<double>(kind.layers);
  if (ran >= layers) return 0;
  const std::optional<OverLayers> spread = over_layers(means);
  if (!spread) return std::nullopt;
  return layers * layers * (1 - ran / layers) * spread->stddev * spread->stddev / ran;
}

}  // namespace

std::optional<std::int64_t> outside_layers_ns(const Workload& workload, const ClusterPreset& cluster) {
  const OutsideProfile& outside = cluster.outside;
  if (workload.scope != choice_name(RunScope::kLayer) || !cluster.sources.contains("outside.per_run_ns"))
    return std::nullopt;
  return std::llround(outside.per_run_ns + outside.per_step_ns * workload.model_denoise_steps.value_or(0));
}

std::optional<WholeModel> whole_model(const StrategyResult& strategy, const Workload& workload) {
  const Model* model = find_model_preset(workload.model);
  const bool is_valid = strategy.legal() && strategy.makespan_ns && strategy.verify != "failed";
  if (!is_valid || strategy.by_layer.empty() || model == nullptr || !workload.model_denoise_steps) return std::nullopt;
  if (strategy.provenance && strategy.provenance->timing == Timing::kOversubscribed) return std::nullopt;

  const int first_single = first_single_layer(*model, workload.model_layers);
  Kind kinds[2];
  kinds[0].layers = first_single;
  kinds[1].layers = workload.model_layers - first_single;
  double of_all = 0;
  for (const LayerResult& pass : strategy.by_layer) {
    if (!pass.makespan_ns) return std::nullopt;
    Kind& kind = kinds[pass.layer < first_single ? 0 : 1];
    kind.sums[pass.layer] += static_cast<double>(*pass.makespan_ns);
    ++kind.counts[pass.layer];
    of_all += static_cast<double>(*pass.makespan_ns);
  }
  double layers_ns = 0;
  double squared = 0;
  bool has_spread = true;
  for (const Kind& kind : kinds) {
    if (kind.layers == 0) continue;
    if (kind.sums.empty()) {
      layers_ns += kind.layers * of_all / static_cast<double>(strategy.by_layer.size());
      has_spread = false;
      continue;
    }
    layers_ns += kind.layers * mean_of(kind.means());
    const std::optional<double> of_kind = variance(kind);
    has_spread = has_spread && of_kind.has_value();
    squared += of_kind.value_or(0);
  }

  const double in_turn = static_cast<double>(workload.forward_passes) / workload.guidance;
  // Only a schedule knows what combining takes; executed times are not mixed with it.
  const bool scheduled = strategy.provenance && strategy.provenance->network == Source::kModelled;
  const double combine_ns = scheduled ? static_cast<double>(workload.combine_ns) : 0;
  WholeModel whole;
  const int steps = *workload.model_denoise_steps;
  whole.latency_ns = std::llround(steps * (in_turn * layers_ns + combine_ns)) + strategy.outside_layers_ns.value_or(0);
  if (has_spread) whole.spread_ns = std::llround(steps * in_turn * std::sqrt(squared));
  if (whole.latency_ns > 0)
    whole.samples_per_hour =
        static_cast<double>(workload.data_parallel) * workload.batch * kHourNs / static_cast<double>(whole.latency_ns);
  return whole;
}

void set_whole_model(StrategyResult& strategy, const Workload& workload) {
  const std::optional<WholeModel> whole = whole_model(strategy, workload);
  strategy.end_to_end_ns = whole ? std::optional(whole->latency_ns) : std::nullopt;
  strategy.end_to_end_spread_ns = whole ? whole->spread_ns : std::nullopt;
  strategy.samples_per_hour = whole && whole->latency_ns > 0 ? std::optional(whole->samples_per_hour) : std::nullopt;
}

}  // namespace spscope
