// From the layer passes that ran to a whole generation: its latency, how far that can be off because only some layers
// ran, and the samples that a cluster makes in an hour.
//
// Let kind k of the model's blocks (double- or single-stream; most models have one kind) have N_k layers, n_k of which
// ran, and let m_k be the mean makespan of their passes, over the denoise steps that ran. Then
//   latency = steps x (passes in turn x sum_k N_k m_k + combining the passes of guidance that run at once) + outside,
// where passes in turn = forward passes / cluster.guidance, and outside is StrategyResult::outside_layers_ns. A kind of
// which no layer ran counts with the mean of all passes. As layers are a sample without replacement, the standard error
// of the sum is
//   sqrt(sum_k N_k^2 (1 - n_k / N_k) s_k^2 / n_k),  s_k the standard deviation over the layers of the kind,
// which is 0 when all layers ran. Denoise steps are not a sample: those that ran are the first ones.
#pragma once

#include <cstdint>
#include <optional>

#include "backend/analysis/strategy_result.h"
#include "backend/config/cluster.h"

namespace spscope {

struct WholeModel {
  std::int64_t latency_ns = 0;  // of the model.batch samples that are computed together
  // Standard error from the layers that did not run; absent when it cannot be told: of a kind only one layer of several
  // ran.
  std::optional<std::int64_t> spread_ns;
  double samples_per_hour = 0;  // of all replicas: data_parallel x batch samples every latency
};

// Absent for a strategy without valid times, whose ranks shared cores, and for a model that is no preset.
std::optional<WholeModel> whole_model(const StrategyResult& strategy, const Workload& workload);

// Time of a whole generation outside of its layers, by the cluster's profile. Absent with run.scope = attention, and
// where the profile does not say it.
std::optional<std::int64_t> outside_layers_ns(const Workload& workload, const ClusterPreset& cluster);

// Sets end_to_end_ns, end_to_end_spread_ns and samples_per_hour.
void set_whole_model(StrategyResult& strategy, const Workload& workload);

}  // namespace spscope
