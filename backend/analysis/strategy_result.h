// What a comparison says of each strategy: the figures of `run`, `compare` and `plan` (docs/metrics.md defines each).
//
// All are recomputed from a stored run: a finished file copied to another machine gives the same numbers. Lists are by
// rank and sum over the layers and denoise steps that ran; ratios are means over them. Absent optionals are printed as
// null: nothing that was not run is ever shown as a number.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backend/analysis/rank_times.h"
#include "backend/base/error.h"
#include "backend/plan/timeline.h"

namespace spscope {

// One (layer, denoise step) of one strategy.
struct LayerResult {
  int layer = 0, denoise_step = 0;
  std::optional<std::int64_t> makespan_ns;  // median over repeats
  double density = 0, tiles = 0;
  double imbalance_ratio = 1, barrier_imbalance_ratio = 1, coupled_imbalance_ratio = 1;
  std::optional<double> planned_imbalance_ratio;  // absent when no mask was known
  std::string verify = "skipped";                 // passed, failed, skipped
  std::optional<double> max_error;
};

struct StrategyResult {
  std::string id;  // unique within a file: "usp-2"
  std::string name, label;
  std::map<std::string, std::string> parameters;
  int ulysses = 1, ring = 1;
  std::vector<int> rank_map;  // node of each rank
  std::vector<std::vector<int>> ulysses_groups, ring_groups;

  bool legal = true;
  std::string reason;  // the first problem, when illegal
  std::vector<Problem> problems;

  RunMode mode = RunMode::kExecute;
  std::string backend;
  RunProvenance provenance;
  int repeats = 0;

  std::optional<std::int64_t> makespan_ns;         // sum over layers of the median repeat
  std::optional<std::int64_t> makespan_spread_ns;  // half the inter-quartile range, summed likewise
  std::optional<std::int64_t> attention_ns;        // the slowest rank's attention kernels
  std::optional<std::int64_t> end_to_end_ns;  // scaled to all layers, denoise steps and forward passes of the model
  std::optional<double> speedup;              // against the first strategy; never for oversubscribed timing
  std::optional<std::int64_t> bound_ns;       // what no strategy can beat on this mask and cluster

  std::optional<double> imbalance_ratio, barrier_imbalance_ratio, coupled_imbalance_ratio, planned_imbalance_ratio;

  std::vector<std::int64_t> bytes_sent, bytes_sent_intra_node, bytes_sent_inter_node, bytes_received;
  std::map<std::string, std::int64_t> bytes_by_tensor;  // q k v o hidden exchange text norm metadata boundary
  std::int64_t messages = 0;
  double tiles = 0, tiles_redundant = 0, moved_fraction = 0;
  RankTimes times;  // empty without a timeline

  std::int64_t planning_ns = 0;
  std::vector<std::int64_t> memory_peak_bytes;  // by rank
  std::int64_t parameter_bytes = 0;
  std::string verify = "skipped", error_metric;
  std::optional<double> max_error;
  std::vector<LayerResult> by_layer;
};

struct Workload {
  std::string model, pattern, cluster;
  std::int64_t tokens = 0, blocks = 0;
  double density = 0;
  int batch = 1, layers = 1, model_layers = 1, denoise_steps = 1, ranks = 1;
  std::string dtype;
};

struct Comparison {
  std::string tool_version, machine, config_hash, file;
  Workload workload;
  std::vector<StrategyResult> strategies;
};

}  // namespace spscope
