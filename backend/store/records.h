// What a store holds, as plain structs that writer and reader share. Column by column the same is documented in
// schemas/; the event records are in events.h.
//
//   workload  what was asked: model, masks, cluster, the canonical config
//   strategy  one strategy of a workload in one mode: parameters, what they came out as, or why it is illegal
//   run       one (layer, denoise step) of a strategy; its plan, ranks, traffic and repeats hang on it
//   repeat    the plan carried out once, measured or scheduled, with a timeline when it was kept
//
// Together they are everything that a result is computed from: a copied file gives the same numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/base/dtype.h"
#include "backend/base/error.h"
#include "backend/base/ids.h"
#include "backend/base/parameter.h"
#include "backend/plan/plan.h"
#include "backend/plan/timeline.h"
#include "backend/store/figures.h"

namespace spscope {

// Keys of rows. They mean something only within their file.
enum class WorkloadId : std::int64_t {};
enum class StrategyId : std::int64_t {};
enum class PlanId : std::int64_t {};
enum class StoredMaskId : std::int64_t {};

// The schema that this program reads and writes, and the oldest one that a program must know to read what it writes.
inline constexpr int kSchemaVersion = 2;
inline constexpr int kMinReader = 2;

struct FileRecord {
  int schema_version = kSchemaVersion, min_reader = kMinReader;
  std::string tool_version;  // of the program that wrote the file
  std::string created_utc;   // "2026-01-31T12:00:00Z"
  std::string ranks;         // what gave those of a program that was watched, for people; "" in other files
};

// One fact about the machine a run was made on: ("cpu", "AMD EPYC 7763"), ("cores", "64").
struct MachineFact {
  std::string name, value;
  friend bool operator==(const MachineFact&, const MachineFact&) = default;
};

struct WorkloadRecord {
  WorkloadId workload_id = {};          // given by the writer
  std::string config_toml;              // canonical: what was asked, every default filled in
  std::string config_hash;              // equal for configs that ask for the same run (config_text.h)
  std::string cluster_toml;             // every number of network and kernel cost that modelled times rest on
  std::string model, pattern, cluster;  // names, for people
  std::string scope;                    // attention or layer
  std::int64_t tokens = 0, text_tokens = 0, blocks = 0;
  int heads = 1, head_dim = 1, batch = 1;
  int layers = 1, denoise_steps = 1;         // how many ran
  int model_layers = 1, forward_passes = 1;  // of the whole model: depth, passes a denoise step (CFG)
  int guidance = 1;                          // of the forward passes, how many run at once, each on ranks of its own
  // To combine these, once a denoise step: bytes that all ranks of a replica send, and the schedule of it.
  std::int64_t combine_bytes = 0, combine_ns = 0;
  // The ranks of a plan, which are those of one guidance pass of a replica, and the nodes that they are on.
  int ranks = 1, nodes = 1, gpus_per_node = 1, data_parallel = 1;
  Dtype dtype = Dtype::kBf16;
};

// How a strategy splits its ranks: the degrees (0: lost, in a recovered file), and each group's ranks in group order.
struct RankMesh {
  int ulysses = 1, ring = 1;
  std::vector<std::vector<int>> ulysses_groups = {}, ring_groups = {};
  friend bool operator==(const RankMesh&, const RankMesh&) = default;
};

// How `all` in run.strategies came to the parameters of a strategy: of its settings, this one has the shortest schedule
// on the cluster, over a few layers. Times are modelled, whatever the mode, and means over those layers.
struct StrategyPick {
  int settings = 0;               // different plans that were compared; 0: the strategy cannot run
  std::int64_t predicted_ns = 0;  // of the picked setting
  std::string next_label;         // the second best setting; "": there is none that comes near
  std::int64_t next_ns = 0;
  friend bool operator==(const StrategyPick&, const StrategyPick&) = default;
};

struct StrategyRecord {
  StrategyId strategy_id = {};  // given by the writer
  WorkloadId workload_id = {};
  std::string id;           // unique within the file: "usp-2"; names repeat
  std::string name, label;  // "usp", "usp u4 r2"
  Parameters parameters;
  RunMode mode = RunMode::kExecute;
  std::string device, backend;    // "cpu", "threads"
  std::vector<Problem> problems;  // why it is illegal; empty when it is legal
  std::vector<int> rank_map;      // node of each rank
  // That layer passes ran with, in the order of first use. None when the strategy is illegal from the start; one that
  // was refused later keeps those that it had, and its label, since runs without figures refer to them.
  std::vector<RankMesh> meshes;

  std::optional<StrategyPick> pick;  // of a strategy that `all` stands for

  bool legal() const { return problems.empty(); }
};

struct RunRecord : RunFigures {
  RunId run_id = {};  // given by the writer
  StrategyId strategy_id = {};
  int layer = 0, denoise_step = 0;
  int mesh = 0;  // in StrategyRecord::meshes
  std::optional<PlanId> plan_id;
  RunProvenance provenance;
  // Whether the strategy decided anew from known masks at this step; nullopt: it never keeps a decision.
  std::optional<bool> decided;
  Verdict verdict = Verdict::kSkipped;  // outputs against the reference
  std::optional<double> max_error;
  std::string error_metric;  // what max_error measures: "nmse"
  // false: begun and not finished. Its events may be there, its figures are not.
  bool finished = true;
};

// What one rank did in a run, counted by its communicator and its executor, or taken from the plan when nothing ran.
struct RankUsage {
  int rank = 0;
  double tiles = 0;  // unrefined, by area
  std::int64_t flops = 0;
  std::int64_t bytes_sent_intra_node = 0, bytes_sent_inter_node = 0, bytes_received = 0;
  std::int64_t messages = 0;            // sent
  std::int64_t memory_peak_bytes = 0;   // measured, or along the schedule
  std::int64_t memory_bound_bytes = 0;  // safe for every legal execution; 0: not computed
  bool counted = false;                 // bytes and messages come from the communicator's counters, not from the plan
  // Of the rank's GPU, for each post of the plan: ExecuteResult::host_post_ns; nullopt: not executed on GPUs.
  std::optional<std::int64_t> host_post_ns = {};
  friend bool operator==(const RankUsage&, const RankUsage&) = default;
};

// What went from one rank to another: one row a tensor. src == dst is never stored.
struct Traffic {
  int src = 0, dst = 0;
  std::string tensor;  // q k v o hidden exchange text norm metadata boundary
  std::int64_t messages = 0, bytes = 0;
  friend bool operator==(const Traffic&, const Traffic&) = default;
};

struct RepeatRecord {
  int repeat = 0;
  // Run clock at the zero of the timeline. kAfterEverything: right after all events that the file holds, which is where
  // modelled times go.
  std::int64_t begin_ns = kAfterEverything;
  std::int64_t makespan_ns = 0;
  bool has_timeline = false;  // its events are in the file or in a shard of its run
  std::int64_t lead_ns = 0;   // from the zero of the timeline to the end of the pass before (schedule/layer_passes.h)
  static constexpr std::int64_t kAfterEverything = -1;
};

// How a mask can be had again. `recipe` is TOML (backend/analysis/mask_recipe.h) and "" when the bits themselves are
// stored because nothing but the bits says what they are (imported or computed masks).
struct MaskRecord {
  StoredMaskId mask_id = {};
  std::uint64_t hash = 0;  // BlockMask::hash of the unrefined mask
  std::string recipe;
  int heads = 0;
  std::int64_t tokens = 0, blocks = 0;
  double density = 0;
};

// Where a mask runs. axis: the attended one.
struct MaskPlace {
  int layer = 0, denoise_step = 0;
  AttendedAxis axis = AttendedAxis::kInner;
  StoredMaskId mask_id = {};
  friend bool operator==(const MaskPlace&, const MaskPlace&) = default;
};

// Density of one head over a grid of kSide x kSide cells of equal tokens, row by row (queries down, keys across);
// 0 is empty, 255 is full.
struct DensityThumbnail {
  static constexpr int kSide = 64;
  std::vector<std::uint8_t> cells;  // kSide x kSide
};

}  // namespace spscope
