// The results of each strategy in a comparison: the figures of `run`, `compare` and `plan` (defined in
// docs/metrics.md).
//
// All are computed from a stored run: a finished file copied to another machine gives the same numbers. Lists are by
// rank and sum over the layers and denoise steps that ran; ratios are means over them. Absent optionals and empty lists
// are printed as null.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backend/analysis/rank_times.h"
#include "backend/plan/timeline.h"
#include "backend/store/records.h"

namespace spscope {

// One (layer, denoise step) of one strategy.
struct LayerResult {
  int layer = 0, denoise_step = 0;
  std::optional<std::int64_t> makespan_ns;  // of the median repeat
  double density = 0, tiles = 0;
  std::optional<double> imbalance_ratio, barrier_imbalance_ratio, coupled_imbalance_ratio, planned_imbalance_ratio;
  std::optional<bool> decided;     // whether the strategy decided anew from known masks; absent when it never keeps
  std::string verify = "skipped";  // passed, failed, skipped
  std::optional<double> max_error;
  // The rank with most compute or, without times, with most tiles; and how far that is above the mean over ranks: 0.31.
  std::optional<int> slowest_rank;
  std::optional<double> slowest_excess;
};

// A strategy as the file describes it, and its results.
struct StrategyResult : StrategyRecord {
  StrategyResult() = default;
  explicit StrategyResult(const StrategyRecord& record) : StrategyRecord(record) {}

  // The first problem of one that is illegal; else "".
  std::string reason() const { return legal() ? "" : problems.front().message; }
  // A defect of the strategy, and not of what was asked of it: its plan breaks rules, or its outputs are wrong.
  bool failed() const {
    return verify == "failed" || std::ranges::any_of(problems, [](const Problem& p) {
             return p.code == ErrorCode::kPlanInvalid || p.code == ErrorCode::kPlanNotHeld;
           });
  }

  std::optional<RunProvenance> provenance;  // absent when nothing ran
  int repeats = 0;                          // of each layer; the fewest

  std::optional<std::int64_t> makespan_ns;         // sum over layers of the median repeat
  std::optional<std::int64_t> makespan_spread_ns;  // half the interquartile range over repeats of that sum; needs 2 repeats
  std::optional<std::int64_t> attention_ns;        // the slowest rank's attention kernels
  std::optional<std::int64_t> end_to_end_ns;  // scaled to all layers, denoise steps and forward passes of the model
  std::optional<double> speedup;              // against the first legal strategy; never for oversubscribed timing
  std::optional<std::int64_t> bound_ns;       // lower bound of every strategy on this mask and cluster

  std::optional<double> imbalance_ratio, barrier_imbalance_ratio, coupled_imbalance_ratio, planned_imbalance_ratio;

  // Denoise steps at which a strategy that keeps its decisions decided anew, its first plan not counted.
  std::optional<int> replans;

  std::vector<std::int64_t> bytes_sent, bytes_sent_intra_node, bytes_sent_inter_node, bytes_received;
  std::map<std::string, std::int64_t> bytes_by_tensor;  // q k v o hidden exchange text norm metadata boundary
  bool bytes_counted = false;                           // by the communicators; else they are the plan's
  std::optional<std::int64_t> messages;
  std::optional<double> tiles, tiles_redundant, moved_fraction;
  std::vector<double> tiles_by_rank;
  RankTimes times;  // of the median repeats; empty without timelines

  // Measured compute over the compute of the same plans by the cost profile of the cluster, all ranks: how much slower
  // than the cluster's device this machine computed. Projected runs only.
  std::optional<double> compute_scale;
  // Largest distance over ranks between share of attention time and share of tiles, both in units of the mean: 0.3 is a
  // rank that took 30 % of a mean rank's time more, or less, than its tiles. Measured compute only.
  std::optional<double> compute_deviation;

  std::optional<std::int64_t> planning_ns, parameter_bytes;
  std::vector<std::int64_t> memory_peak_bytes;  // by rank
  std::string verify = "skipped", error_metric;
  std::optional<double> max_error;
  std::vector<LayerResult> by_layer;
};

// The input of the strategies, and how much of it the file holds.
struct Workload : WorkloadRecord {
  std::optional<double> density;  // of the masks, mean over the layer passes below; absent when there is none
  // Of layers x denoise_steps, how many the file holds: fewer when the run was interrupted. Absent for a plan.
  std::optional<int> layer_passes_done;
  std::optional<int> model_denoise_steps;  // absent when the model is not a known preset

  int layer_passes() const { return layers * denoise_steps; }
  bool interrupted() const { return layer_passes_done && *layer_passes_done < layer_passes(); }
};

// The numbers behind modelled times, in the units of data sheets; 0: unknown.
struct ClusterFigures {
  double device_tflops = 0, attention_tflops = 0, memory_gbps = 0;
  double link_gbps = 0, nic_gbps = 0;      // 10^9 bytes a second, one way: within a node, between nodes
  std::string compute_from, network_from;  // "assumed", "modelled", "measured"
};

struct MachineLine {
  std::string name, value;
};

// The completeness of the recording in a file, and the incidents of its ranks.
struct Recording {
  std::int64_t events_sent = 0, events_stored = 0, dropped = 0, unreadable = 0, lost = 0;
  std::vector<std::string> incidents;  // "rank 3, killed: ..."; the first cause first

  std::int64_t events_missing() const { return events_sent - events_stored; }
};

// The strategies of one workload.
struct Comparison {
  std::string tool_version, created_utc, config_hash, file;
  std::vector<MachineLine> machine;
  Workload workload;
  std::optional<ClusterFigures> cluster;  // absent when the file does not hold its numbers
  Recording recording;                    // of the whole file
  std::vector<StrategyResult> strategies;
};

}  // namespace spscope
