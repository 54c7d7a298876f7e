// The kernel costs of one rank: plans of one rank are executed and their ops timed. Attention is measured over several
// lengths, row loads and head dims; copies, merges and finishes over two lengths; matrix products over three.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "backend/base/listed.h"
#include "backend/base/median.h"
#include "backend/base/rng.h"
#include "backend/execute/calibrate/calibrate_experiment.h"
#include "backend/plan/layer_kernels.h"
#include "kernels/calibrate.h"
#include "kernels/gemm.h"

namespace spscope {
namespace {

constexpr std::int32_t kLeastTokens = 16;  // an attention that is little more than its launch
constexpr std::array kHeadDims = {64, 128};
// Attention takes most of the time that is to be spent.
constexpr double kAttendShare = 0.62, kTileShare = 0.08, kGemmShare = 0.15;
constexpr std::int32_t kTile = 64;  // tokens, of the largest tile whose halves are measured
constexpr int kTileHalvings = 3;
// Matrix products: tokens of the shortest, and channels of the layer whose feed-forward network is measured, outside
// and inside.
constexpr std::int32_t kGemmTokens = 128, kMaxGemmTokens = 512, kHidden = 768, kFfn = 3072;

}  // namespace

CalibrateSizes cpu_sizes(const CalibrateOptions& options) {
  constexpr std::int32_t kTokens = 2048;
  const std::int32_t longest = options.max_tokens > 0 ? options.max_tokens : kTokens;
  return {.heads = 1, .blocks = {64}, .min_tokens = 128, .max_tokens = longest, .long_tokens = 8 * longest};
}

BlockMask mask_of_row_load(int heads, std::int32_t tokens, std::int32_t block, int row_load) {
  BlockMask mask(heads, BlockMask::uniform_starts(tokens, block));
  Rng rng(static_cast<std::uint64_t>(row_load));
  std::vector<std::int32_t> order(static_cast<std::size_t>(mask.blocks()));
  std::iota(order.begin(), order.end(), 0);
  for (int head = 0; head < heads; ++head)
    for (std::int32_t q = 0; q < mask.blocks(); ++q)
      for (int i = 0; i < row_load; ++i) {
        std::swap(order[static_cast<std::size_t>(i)],
                  order[static_cast<std::size_t>(i + rng.below(mask.blocks() - i))]);
        mask.set(head, q, order[static_cast<std::size_t>(i)]);
      }
  return mask;
}

Experiment attend_experiment(BlockMask mask, int head_dim, Dtype dtype,
                             std::shared_ptr<const Activations> activations) {
  const auto plan = [](PlanBuilder& b) {
    const Placement rows = b.place([&](int) { return BoxList{b.request().whole()}; });
    const auto [q, kv] = b.input_qkv(rows);
    b.output(b.attend_all(q, kv), rows);
  };
  return make_experiment(1, head_dim, std::move(mask), dtype, plan, {}, std::move(activations));
}

namespace {

// -- attention: launches, query rows, pairs x channels

// Those of an earlier experiment with inputs of this shape; nullptr: there is none.
std::shared_ptr<const Activations> activations_like(const Series& series, std::int32_t tokens, int head_dim) {
  for (const Experiment& experiment : series.experiments)
    if (experiment.activations->inner_tokens == tokens && experiment.activations->head_dim == head_dim)
      return experiment.activations;
  return nullptr;
}

// `block` divides the tokens, or is all of them.
void add_attend(Series& series, const CalibrateSizes& sizes, std::int32_t tokens, std::int32_t block, int row_load,
                int head_dim, Dtype dtype) {
  series.experiments.push_back(attend_experiment(mask_of_row_load(sizes.heads, tokens, block, row_load), head_dim,
                                                 dtype, activations_like(series, tokens, head_dim)));
  const double rows = sizes.heads * static_cast<double>(tokens);
  const double pairs = rows * row_load * std::min(tokens, block);
  for_each_op(series.experiments.back().plan, PostKind::kAttend, [&](OpId id, const Op&) {
    series.points.push_back({series.experiments.size() - 1, id, {1, rows, pairs * head_dim}, {}});
  });
}

}  // namespace

Series attend_series(const CalibrateSizes& sizes, Dtype dtype) {
  Series series;
  for (int head_dim : kHeadDims) {
    add_attend(series, sizes, kLeastTokens, kLeastTokens, 1, head_dim, dtype);
    for (std::int32_t tokens = sizes.min_tokens; tokens <= sizes.max_tokens; tokens *= kTokensFactor)
      for (std::int32_t block : sizes.blocks) {
        const int blocks = tokens / block;
        std::vector<int> loads = {1, std::max(1, blocks / 4), blocks};
        loads.erase(std::unique(loads.begin(), loads.end()), loads.end());
        for (int row_load : loads) add_attend(series, sizes, tokens, block, row_load, head_dim, dtype);
      }
  }
  return series;
}

std::vector<AttentionTime> attention_times(const Series& attends) {
  std::vector<AttentionTime> times;
  for (const Point& point : attends.points) {
    const Request& request = attends.experiments[point.experiment].request;
    const std::int32_t tokens = request.inner_tokens;
    const BlockMask& mask = request.executed_mask().mask();
    std::vector<double> ms;
    for (const double ns : point.runs_ns) ms.push_back(ns * 1e-6);
    times.push_back({tokens, request.heads, request.head_dim, tokens / mask.blocks(), mask.density(), measured(ms)});
  }
  return times;
}

Series tile_series(const CalibrateSizes& sizes, Dtype dtype) {
  Series series;
  const std::int32_t tokens = sizes.max_tokens / kTile * kTile;
  for (int halvings = 0; halvings <= kTileHalvings; ++halvings) {
    const int quarter = std::max(1, tokens / kTile / 4) << halvings;
    add_attend(series, sizes, tokens, kTile >> halvings, quarter, kHeadDims.front(), dtype);
  }
  return series;
}

// The slope through the origin of the logarithm of the time of pairs over that of whole tiles, by halvings.
double small_tile_of(const Series& tiles, const LinearFit& attend) {
  const auto pairs_ns = [&](const Point& point) {
    const double others_ns = attend.coefficients[0] + attend.coefficients[1] * point.terms[1];
    return std::max(1.0, median(point.runs_ns) - others_ns);
  };
  double weighted = 0, squares = 0;
  for (std::size_t halvings = 1; halvings < tiles.points.size(); ++halvings) {
    const auto x = static_cast<double>(halvings);
    weighted += x * std::log(pairs_ns(tiles.points[halvings]) / pairs_ns(tiles.points.front()));
    squares += x * x;
  }
  return std::max(1.0, std::exp(weighted / squares));
}

namespace {

// -- moves: bytes read and written by a copy, a merge and a finish

// Keys are cut in two: one half makes unfinished rows that are merged into those of the other half. The output is
// copied from two buffers into one and back: what the rank has computed itself, since its inputs come from another
// core's cache.
void plan_moves(PlanBuilder& b) {
  const Request& request = b.request();
  const std::vector<SetId> halves = b.sets().even(request.all_inner(), 2);
  const Placement whole = b.place([&](int) { return BoxList{request.whole()}; });
  const Placement cut = b.place([&](int) {
    return BoxList{{request.all_heads(), request.all_outer(), halves[0]},
                   {request.all_heads(), request.all_outer(), halves[1]}};
  });
  const auto part = [&](SetId tokens) {
    return b.place([&](int) { return BoxList{{request.all_heads(), request.all_outer(), tokens}}; });
  };
  const auto [q, kv] = b.input_qkv(cut);
  const AccId first = b.accumulate(q), second = b.accumulate(q);
  b.attend(first, b.narrow(kv, part(halves[0])));
  b.attend(second, b.narrow(kv, part(halves[1])));
  b.merge(first, b.partial(second));
  b.output(b.reshard(b.reshard(b.finish(first), whole), cut), cut);
}

// Bytes that each op of plan_moves reads and writes, as the cost model counts them: a merge reads rows and reads and
// writes others, a finish reads unfinished rows and writes rows.
void add_moves(Series& series, const CalibrateSizes& sizes, std::int32_t tokens, int head_dim, Dtype dtype) {
  BlockMask mask = mask_of_row_load(sizes.heads, tokens, sizes.blocks.front(), 1);
  series.experiments.push_back(make_experiment(1, head_dim, std::move(mask), dtype, plan_moves));
  const Plan& plan = series.experiments.back().plan;
  const double rows = sizes.heads * static_cast<double>(tokens);
  const double row_bytes = head_dim * static_cast<double>(dtype_bytes(dtype));
  const double unfinished_bytes = (head_dim + 2) * static_cast<double>(sizeof(float));
  const auto add = [&](OpId op, double bytes_a_row) {
    series.points.push_back({series.experiments.size() - 1, op, {rows * bytes_a_row}, {}});
  };
  for_each_op(plan, PostKind::kCopy, [&](OpId id, const Op&) { add(id, 2 * row_bytes); });
  for_each_op(plan, PostKind::kMerge, [&](OpId id, const Op&) { add(id, 3 * unfinished_bytes); });
  for_each_op(plan, PostKind::kFinish, [&](OpId id, const Op& op) {
    const bool finished = plan.values[static_cast<std::size_t>(plan.post_of(op).dst)].partial == kNone;
    add(id, unfinished_bytes + (finished ? row_bytes : unfinished_bytes));
  });
}

}  // namespace

Series move_series(const CalibrateSizes& sizes, Dtype dtype) {
  Series series;
  for (std::int32_t tokens : {sizes.max_tokens, sizes.long_tokens})
    add_moves(series, sizes, tokens, kHeadDims.front(), dtype);
  return series;
}

namespace {

// -- matrix products: FLOPs, with what the executor packs and unpacks around them

void add_gemms(Series& series, std::int32_t tokens, Dtype dtype) {
  const auto shape = [](Request& request) {
    request.block = LayerBlock::kSingleStream;
    request.hidden = kHidden;
    request.ffn = kFfn;
    request.kernels = {make_layer_kernel(request, "w1"), make_layer_kernel(request, "w2")};
  };
  series.experiments.push_back(make_experiment(
      1, kHeadDims.front(), mask_of_row_load(1, tokens, kGemmTokens / 2, 1), dtype,
      [](PlanBuilder& b) {
        const Placement rows = b.place([&](int) { return BoxList{b.request().whole(Axis::kHidden)}; });
        const ValueId x = b.input(kHiddenState, rows, Axis::kHidden);
        b.output(b.linear(b.linear(x, "w1"), "w2"), rows);
      },
      shape));
  for_each_op(series.experiments.back().plan, PostKind::kLocal, [&](OpId id, const Op& op) {
    series.points.push_back({series.experiments.size() - 1, id, {static_cast<double>(op.flops)}, {}});
  });
}

}  // namespace

Series gemm_series(const CalibrateOptions& options) {
  Series series;
  for (std::int32_t tokens = kGemmTokens; tokens <= std::min(cpu_sizes(options).max_tokens, kMaxGemmTokens);
       tokens *= 2)
    add_gemms(series, tokens, options.dtype);
  return series;
}

namespace {

std::string fitted(const FitQuality& quality) {
  return fmt::format("medians of {} points, off by {:.0f} % in the median and {:.0f} % at most", quality.num_samples,
                     100 * quality.median_relative_residual, 100 * quality.max_relative_residual);
}

}  // namespace

std::string attend_source(const CalibrateSizes& sizes, Dtype dtype, const FitQuality& quality) {
  return fmt::format("measured: {} attention of {} to {} rows at 1 to all blocks of {}, head dim {} and {}; {}",
                     dtype_name(dtype), sizes.heads * kLeastTokens, sizes.heads * sizes.max_tokens,
                     listed(sizes.blocks), kHeadDims[0], kHeadDims[1], fitted(quality));
}

std::string move_source(const FitQuality& quality) {
  return fmt::format("measured: copies, merges and finishes; {}", fitted(quality));
}

namespace {

NumberSources sources_of(const CalibrateOptions& options, const KernelCalibration& result) {
  const std::string attend = attend_source(cpu_sizes(options), options.dtype, result.attend);
  return {{"cost.attend_ns_per_launch", attend},
          {"cost.attend_ns_per_row", attend},
          {"cost.attend_ns_per_pair_channel", attend},
          {"cost.small_tile", fmt::format("measured: {} attention of the same pairs in tiles of {} to {} tokens",
                                          dtype_name(options.dtype), kTile, kTile >> kTileHalvings)},
          {"cost.move_ns_per_byte", move_source(result.move)},
          {"cost.gemm_ns_per_flop", fmt::format("measured: {} products of {} by {} channels; {}",
                                                dtype_name(options.dtype), kHidden, kFfn, fitted(result.gemm))}};
}

}  // namespace

KernelCalibration calibrate_kernels(const CalibrateOptions& options) {
  KernelCalibration result;
  if (options.on_phase) options.on_phase("attention kernel");
  result.fma_gflop_per_s = kernels::measure_fma_gflop_per_s();
  Series attends = attend_series(cpu_sizes(options), options.dtype);
  run_series(attends, kAttendShare * options.seconds, options);
  const LinearFit attend = fit_series(attends);
  Series tiles = tile_series(cpu_sizes(options), options.dtype);
  run_series(tiles, kTileShare * options.seconds, options);
  if (options.on_phase) options.on_phase("copies, merges and finishes");
  Series moves = move_series(cpu_sizes(options), options.dtype);
  run_series(moves, (1 - kAttendShare - kTileShare - kGemmShare) * options.seconds, options);
  const LinearFit move = fit_series(moves);
  if (options.on_phase) options.on_phase("matrix products");
  Series gemms = gemm_series(options);
  run_series(gemms, kGemmShare * options.seconds, options);
  const LinearFit gemm = fit_series(gemms);
  result.gemm = gemm.quality;
  result.fma_gflop_per_s = std::max(result.fma_gflop_per_s, kernels::measure_fma_gflop_per_s());
  result.cost = {.provenance = Provenance::kMeasured,
                 .attend_ns_per_launch = attend.coefficients[0],
                 .attend_ns_per_row = attend.coefficients[1],
                 .attend_ns_per_pair_channel = attend.coefficients[2],
                 .move_ns_per_byte = move.coefficients[0],
                 .gemm_ns_per_flop = gemm.coefficients[0],
                 .small_tile = small_tile_of(tiles, attend)};
  result.attend = attend.quality;
  result.attention = attention_times(attends);
  result.move = move.quality;
  result.sources = sources_of(options, result);
  return result;
}

}  // namespace spscope
