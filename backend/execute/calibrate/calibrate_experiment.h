// Experiments of the calibration: small plans that are run again and again, and the series of points that a cost model
// is fitted to. Runs of the experiments of a series take turns.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/execute/activations.h"
#include "backend/execute/calibrate/calibrate.h"
#include "backend/plan/plan_builder.h"
#include "backend/plan/timeline.h"

namespace spscope {

struct Experiment {
  Request request;
  Plan plan;
  std::shared_ptr<const Activations> activations;  // those of equal shapes share them
};

inline constexpr int kTokensFactor = 4;  // from one length of attention to the next

// What is measured on a kind of device.
struct CalibrateSizes {
  int heads = 1;
  std::vector<std::int32_t> blocks;  // of the masks of attention, tokens
  std::int32_t min_tokens = 0;       // of the shortest attention but for one that is little more than its launch
  std::int32_t max_tokens = 0;
  std::int32_t long_tokens = 0;  // of copies, merges and finishes, beside those of max_tokens
};
CalibrateSizes cpu_sizes(const CalibrateOptions& options);

// One attention over `mask` on `ranks` ranks, planned by `plan`; `shape` may make the request one for a whole layer.
// Without activations they are generated.
Experiment make_experiment(int ranks, int head_dim, BlockMask mask, Dtype dtype,
                           const std::function<void(PlanBuilder&)>& plan,
                           const std::function<void(Request&)>& shape = {},
                           std::shared_ptr<const Activations> activations = nullptr);

// Two timed runs after one that warms up.
std::vector<Timeline> run_experiment(const Experiment& experiment, const CalibrateOptions& options);

// Calls round() for `seconds`, 3 to 40 times.
void repeat_rounds(double seconds, const std::function<void()>& round);

// One op of an experiment: what it does, by the terms of the cost model, and how long it took in each run.
struct Point {
  std::size_t experiment = 0;
  OpId op = kNone;
  std::vector<double> terms;
  std::vector<double> runs_ns;
};

struct Series {
  std::vector<Experiment> experiments;
  std::vector<Point> points;
};

// Attend ops of one rank; terms: launches, query rows, active pairs x head_dim.
Series attend_series(const CalibrateSizes& sizes, Dtype dtype);
// The points of a series that ran.
std::vector<AttentionTime> attention_times(const Series& attends);
// Attends of the same pairs in tiles of 64 tokens, and in tiles of half, a quarter and an eighth of that; terms as
// above.
Series tile_series(const CalibrateSizes& sizes, Dtype dtype);
// What a halving of a tile costs on the time of pairs, by the series and the fit to attend_series(); at least 1.
double small_tile_of(const Series& tiles, const LinearFit& attend);
// Copies, merges and finishes of one rank; term: bytes read and written.
Series move_series(const CalibrateSizes& sizes, Dtype dtype);

// Matrix products of one rank; term: FLOPs.
Series gemm_series(const CalibrateOptions& options);

void run_series(Series& series, double seconds, const CalibrateOptions& options);
LinearFit fit_series(const Series& series);

// Source texts of the numbers of a fit to attend_series() or move_series().
std::string attend_source(const CalibrateSizes& sizes, Dtype dtype, const FitQuality& quality);
std::string move_source(const FitQuality& quality);

// Every row of blocks of every head has `row_load` active blocks, chosen at random.
BlockMask mask_of_row_load(int heads, std::int32_t tokens, std::int32_t block, int row_load);
// A rank attends all of it and finishes.
Experiment attend_experiment(BlockMask mask, int head_dim, Dtype dtype,
                             std::shared_ptr<const Activations> activations = nullptr);

// A ring of two ranks in which k and v make one hop after the attention of the rank's own keys, or beside it.
enum class Hop { kAfterCompute, kBesideCompute };
// The message has `message_bytes` each way (rounded down to whole blocks); `num_rows` blocks of queries attend to a
// block of their own rank, and the first of them to a block that arrives.
Experiment ring_of_two(std::int64_t message_bytes, Hop hop, std::int32_t num_rows, Dtype dtype);

// Visits the ops of a kind: visit(id, op).
template <typename Visit>
void for_each_op(const Plan& plan, PostKind kind, Visit&& visit) {
  for (OpId id = 0; id < static_cast<OpId>(plan.ops.size()); ++id)
    if (const Op& op = plan.ops[static_cast<std::size_t>(id)]; plan.kind_of(op) == kind) visit(id, op);
}

inline const OpTimes& times_of(const Timeline& timeline, OpId op) { return timeline.ops[static_cast<std::size_t>(op)]; }

}  // namespace spscope
