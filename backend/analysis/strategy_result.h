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
#include <string_view>
#include <vector>

#include "backend/analysis/attribution.h"
#include "backend/analysis/rank_times.h"
#include "backend/analysis/sentence.h"
#include "backend/analysis/time_terms.h"
#include "backend/plan/timeline.h"
#include "backend/schedule/memory_need.h"
#include "backend/store/records.h"

namespace spscope {

// One (layer, denoise step) of one strategy.
struct LayerResult : RunFigures {
  int layer = 0, denoise_step = 0;
  int mesh = 0;                    // in StrategyRecord::meshes
  std::optional<bool> decided;     // whether the strategy decided anew from known masks; absent when it never keeps
  std::string verify = "skipped";  // passed, failed, skipped
  std::optional<double> max_error;
  // The rank with most compute or, without times, with most tiles; and how far that is above the mean over ranks: 0.31.
  std::optional<int> slowest_rank;
  std::optional<double> slowest_excess;
};

// Of the values of one figure in the layer passes that ran: the extremes, and the standard deviation (n - 1).
struct OverLayers {
  double min = 0, max = 0, stddev = 0;
};
// Each absent for fewer than two passes that have the figure.
struct LayerSpread {
  std::optional<OverLayers> makespan_ns, imbalance_ratio, barrier_imbalance_ratio, coupled_imbalance_ratio;
  std::optional<OverLayers> speedup;  // of each pass over the same pass of the baseline
};

// Lists by rank (RANK_FIGURE in figures.def); empty where nothing that they are computed from was planned, run or kept.
struct RankFigures {
  std::vector<std::int64_t> bytes_sent = {}, bytes_sent_intra_node = {}, bytes_sent_inter_node = {},
                            bytes_received = {};
  std::vector<double> tiles_by_rank = {};
  RankTimes times = {};  // of the median repeats
  std::vector<std::int64_t> memory_peak_bytes = {};
  std::vector<std::int64_t> waited_for_ns = {};  // how long others waited for it
};

// A strategy as the file describes it, and its results.
struct StrategyResult : StrategyRecord, RunFigures, RankFigures {
  StrategyResult() = default;
  explicit StrategyResult(const StrategyRecord& record) : StrategyRecord(record) {}

  // The first problem of one that is illegal; else "".
  std::string reason() const { return legal() ? "" : problems.front().message; }
  // The mean time of a layer pass; absent without times.
  std::optional<double> layer_pass_ns() const {
    if (!makespan_ns || by_layer.empty()) return std::nullopt;
    return static_cast<double>(*makespan_ns) / static_cast<double>(by_layer.size());
  }
  // Layer passes that ran with a mesh.
  std::int64_t passes_of_mesh(std::size_t mesh) const {
    return std::ranges::count(by_layer, static_cast<int>(mesh), &LayerResult::mesh);
  }
  // A defect of the strategy, and not of what was asked of it: its plan breaks rules, or its outputs are wrong.
  bool failed() const {
    return verify == "failed" || std::ranges::any_of(problems, [](const Problem& p) {
             return p.code == ErrorCode::kPlanInvalid || p.code == ErrorCode::kPlanNotHeld;
           });
  }

  std::optional<RunProvenance> provenance;  // absent when nothing ran
  int repeats = 0;                          // of each layer; the fewest

  LayerSpread over_layers;

  // Denoise steps at which a strategy that keeps its decisions decided anew, its first plan not counted.
  std::optional<int> replans;

  std::map<std::string, std::int64_t> bytes_by_tensor;  // q k v o hidden exchange text norm metadata boundary
  bool bytes_counted = false;                           // by the communicators; else they are the plan's
  MemoryNeed memory_need;  // of the cluster's ranks: of each, the layer pass that needs most; no ranks: not known
  std::string verify = "skipped", error_metric;
  std::optional<double> max_error;
  std::vector<LayerResult> by_layer;

  // Of makespan_ns, means over ranks that add up to it (mean_terms); absent without timelines.
  std::optional<TimeTerms> terms;
  // Of makespan_ns too, along the critical paths of the layer passes; absent where `terms` is.
  std::optional<TimeTerms> path_terms;
  Probes probes;                          // some of its layer passes; empty where no schedule made their times
  std::vector<Attribution> attributions;  // why it is slower than others (set_attributions)
  std::vector<RankWait> rank_waits;       // sums over layer passes, longest first
  // The heads that each rank attends: "5-9, 12". Empty texts: all heads, or layer passes differ.
  std::vector<std::string> heads_by_rank;
};

// The input of the strategies, and how much of it the file holds.
struct Workload : WorkloadRecord {
  std::optional<double> density;  // of the masks, mean over the layer passes below; absent when there is none
  // Of layers x denoise_steps, how many the file holds: fewer when the run was interrupted. Absent for a plan.
  std::optional<int> layer_passes_done;
  std::optional<int> model_denoise_steps;  // of a generation; absent when the config does not say and no preset does

  int layer_passes() const { return layers * denoise_steps; }
  bool interrupted() const { return layer_passes_done && *layer_passes_done < layer_passes(); }
};

// The numbers behind modelled times, in the units of data sheets; 0: unknown.
struct ClusterFigures {
  double device_tflops = 0, attention_tflops = 0, memory_gbps = 0;
  double link_gbps = 0, nic_gbps = 0;                    // 10^9 bytes a second, one way: within a node, between nodes
  std::string compute_from, network_from, outside_from;  // "assumed", "modelled", "measured", "fitted"
  std::string gpu, attention_kernel, implementation;     // of the profile layers; "": numbers given one by one
  // Of times of attention alone: about what a rank takes for the rest of a layer, its matrix products; 0: whole layers.
  double rest_of_layer_ns = 0;
};

struct MachineLine {
  std::string name, value;
};

// The completeness of the recording in a file, and the incidents of its ranks.
struct Recording {
  std::int64_t events_sent = 0, events_stored = 0, dropped = 0, unreadable = 0, lost = 0;
  std::vector<Sentence> incidents;  // "rank 3, killed: ..."; the first cause first

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

  // nullptr when there is no such id.
  const StrategyResult* find(std::string_view id) const {
    const auto found = std::ranges::find(strategies, id, &StrategyResult::id);
    return found == strategies.end() ? nullptr : &*found;
  }
};

}  // namespace spscope
