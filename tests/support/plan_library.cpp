#include "tests/support/plan_library.h"

#include <algorithm>
#include <ostream>

#include "backend/base/rng.h"
#include "backend/plan/terms.h"
#include "backend/strategies/strategy.h"

namespace spscope::testing {
namespace {

BlockMask seeded_mask(int heads, std::vector<std::int32_t> starts, bool text, Rng& rng) {
  BlockMask mask(heads, std::move(starts));
  const std::int32_t blocks = mask.blocks();
  for (int head = 0; head < heads; ++head) {
    const double density = 0.35 * (0.2 + 1.6 * rng.uniform());
    for (std::int32_t q = 0; q < blocks; ++q)
      for (std::int32_t k = 0; k < blocks; ++k) {
        const bool words = text && (q == blocks - 1 || k == blocks - 1);
        const bool empty_row = head == 0 && q == blocks / 2;
        if ((rng.uniform() < density && !empty_row) || words) mask.set(head, q, k);
      }
  }
  return mask;
}

std::vector<std::int32_t> starts_of(std::int32_t tokens, std::int32_t text, std::int32_t block) {
  std::vector<std::int32_t> starts = BlockMask::uniform_starts(tokens - text, block);
  if (text > 0) starts.push_back(tokens);
  return starts;
}

// wo attention(rms(wq x), wkv x)
ValueId whole_block(PlanBuilder& b, ValueId x, AttendedAxis axis) {
  const ValueId q = b.linear(x, "wq"), norm = b.linear(q, kSumOfSquares);
  const ValueId scaled = b.local("rms", std::vector{q, norm});
  return b.linear(b.attend_all(scaled, b.linear(x, "wkv"), axis), "wo");
}

}  // namespace

Request layer_request(const LayerShape& shape, LayerKind kind) {
  Rng rng(3);
  Request request = Request::attention(
      shape.ranks, shape.heads, shape.head_dim,
      seeded_mask(shape.heads, starts_of(shape.inner, shape.text, shape.block), shape.text > 0, rng), shape.dtype);
  request.outer_tokens = shape.outer;
  request.text_tokens = shape.text;
  request.text = shape.text_layout;
  request.ffn = shape.ffn;
  request.batch = shape.batch;
  request.ranks_per_node = shape.ranks_per_node;
  if (shape.outer > 1) {
    request.executed_masks[0] =
        std::make_shared<MaskCounter>(request.sets, seeded_mask(shape.heads, starts_of(shape.outer, 0, 2), false, rng));
    request.known_masks[0] = request.executed_masks[0];
  }
  if (kind != LayerKind::kAttention && kind != LayerKind::kRotaryAttention)
    request.kernels = {{"wq", true, Axis::kHidden, Axis::kHeads, kQueries},
                       {"wkv", true, Axis::kHidden, Axis::kHeads, kKeysValues},
                       {"wo", true, Axis::kHeads, Axis::kHidden, kHiddenState},
                       {"w1", true, Axis::kHidden, Axis::kFfn, TensorSet{Tensor::kF}},
                       {"w2", true, Axis::kFfn, Axis::kHidden, kHiddenState},
                       {std::string(kSumOfSquares), true, Axis::kHeads, Axis::kStat, TensorSet{Tensor::kNorm}}};
  if (kind == LayerKind::kCrossAttention)
    request.kernels.push_back({std::string(kCrossAttention), false, Axis::kHeads, Axis::kHeads, {}, 48, 1000});
  if (kind == LayerKind::kDoubleBlock)
    for (const char* stream : {"_video", "_text"})
      for (std::size_t i = 0; i < 3; ++i) {
        Kernel kernel = request.kernels[i];
        kernel.name += stream;
        request.kernels.push_back(kernel);
      }
  request.outputs = outputs_of(build([&](PlanBuilder& b, const Request& r) { plan_whole_layer(b, r, kind); }, request));
  return request;
}

void plan_whole_layer(PlanBuilder& b, const Request& request, LayerKind kind) {
  const auto on_first = [&](Axis axis) {
    return b.place([&](int rank) { return rank == 0 ? BoxList{request.whole(axis)} : BoxList{}; });
  };
  if (kind == LayerKind::kAttention || kind == LayerKind::kRotaryAttention) {
    int layer = 0;
    for (const AttendedAxis axis : {AttendedAxis::kInner, AttendedAxis::kOuter}) {
      if (!request.attends(axis)) continue;
      auto [q, kv] = b.input_qkv(on_first(Axis::kHeads), layer++);
      if (kind == LayerKind::kRotaryAttention) q = b.local("rope", {&q, 1}), kv = b.local("rope", {&kv, 1});
      b.output(b.attend_all(q, kv, axis), on_first(Axis::kHeads));
    }
    return;
  }
  ValueId x = b.input(kHiddenState, on_first(Axis::kHidden), Axis::kHidden);
  if (kind == LayerKind::kCrossAttention || kind == LayerKind::kDoubleBlock) {
    ValueId y = kNone;
    if (kind == LayerKind::kDoubleBlock) {
      const ValueId q = per_stream(b, x, "wq"), kv = per_stream(b, x, "wkv");
      y = per_stream(b, b.attend_all(q, kv), "wo");
    } else {
      const ValueId q = b.linear(x, "wq");
      y = b.linear(b.local(kCrossAttention, {&q, 1}), "wo");
    }
    return b.output(b.local("residual", std::vector{x, y}), on_first(Axis::kHidden));
  }
  x = b.local("residual", std::vector{x, whole_block(b, x, AttendedAxis::kInner)});
  if (kind == LayerKind::kSpatialTemporal) {
    x = b.local("residual", std::vector{x, whole_block(b, x, AttendedAxis::kOuter)});
  } else {
    const ValueId f = b.linear(x, "w1");
    x = b.local("residual", std::vector{x, b.linear(b.local("gelu", {&f, 1}), "w2")});
  }
  b.output(x, on_first(Axis::kHidden));
}

Plan build(const PlanFunction& plan, const Request& request) {
  PlanBuilder builder(request);
  plan(builder, request);
  return builder.take();
}

PlanFunction strategy_plan(std::string_view name, std::vector<std::pair<std::string_view, ParameterValue>> settings) {
  const Strategy& strategy = *find_strategy(name);
  Parameters parameters(strategy.parameters());
  for (const auto& [key, value] : settings) parameters.set(key, value);
  return [&strategy, parameters](PlanBuilder& b, const Request& request) {
    strategy.plan(b, request, parameters, strategy.decide(request, parameters));
  };
}

void plan_torus(PlanBuilder& b, const Request& request, int nodes, int ulysses, const TorusWay& way) {
  const Mesh mesh{nodes * ulysses, request.ranks / (nodes * ulysses), false};
  const int chunks = nodes * mesh.ring;
  const TorusCut cut{.nodes = nodes,
                     .mesh = mesh,
                     .heads = b.sets().even(request.all_heads(), mesh.ulysses),
                     .chunks = cut_blocks(request, AttendedAxis::kInner, chunks, TokenOrder::kContiguous),
                     .slices = slices_for(request, AttendedAxis::kInner, chunks)};
  const Placement rows = torus_rows(b, cut);
  auto [q, kv] = b.input_qkv(rows);
  q = b.local("rope", {&q, 1});
  kv = b.local("rope", {&kv, 1});
  b.output(torus_attention(b, cut, way, q, kv), rows);
}

PlanFunction balanced_usp(std::int64_t ulysses, std::int64_t ring) {
  return strategy_plan("dbsp", {{"ulysses", ulysses}, {"ring", ring}, {"reward", 0.0}});
}

namespace {

std::vector<PlanCase> megatron_cases() {
  using Kind = LayerKind;
  using Algorithm = CollectiveAlgorithm;
  const auto megatron = [](bool sp, Algorithm algorithm = Algorithm::kFlat) {
    return [=](PlanBuilder& b, const Request& r) { plan_megatron(b, r, sp, algorithm); };
  };
  return {
      {"megatron_more_ranks_than_heads", Kind::kMegatronLayer, {.ranks = 7, .ffn = 11}, megatron(false)},
      {"megatron_sp_in_a_ring",
       Kind::kMegatronLayer,
       {.ranks = 5, .ffn = 11, .batch = 2},
       megatron(true, Algorithm::kRing)},
      {"megatron_tp_hierarchical",
       Kind::kMegatronLayer,
       {.ranks = 6, .ffn = 11, .dtype = Dtype::kFp32, .ranks_per_node = 2},
       megatron(false, Algorithm::kHierarchical)},
      {"megatron_tree_of_six",
       Kind::kMegatronLayer,
       {.ranks = 6, .ffn = 11, .ranks_per_node = 3},
       megatron(true, Algorithm::kTree)},
      {"megatron_uneven_nodes",
       Kind::kMegatronLayer,
       {.ranks = 5, .ffn = 11, .ranks_per_node = 3},
       megatron(true, Algorithm::kHierarchical)},
      {"megatron_one_rank", Kind::kMegatronLayer, {.ranks = 1, .ffn = 11}, megatron(true)},
  };
}

}  // namespace

const std::vector<PlanCase>& plan_cases() {
  using Kind = LayerKind;
  const auto usp = [](std::int64_t ulysses, std::int64_t ring, const char* ranks = "contiguous",
                      const char* order = "contiguous") {
    return strategy_plan(
        "usp", {{"ulysses", ulysses}, {"ring", ring}, {"ranks", std::string(ranks)}, {"order", std::string(order)}});
  };
  const auto torus = [](int nodes, int ulysses, TorusWay way) {
    return [=](PlanBuilder& b, const Request& r) { plan_torus(b, r, nodes, ulysses, way); };
  };
  const LayerShape text{.ranks = 4, .text = 5, .text_layout = TextLayout::kReplicate};
  static const std::vector<PlanCase> others = {
      {"single", Kind::kAttention, {.ranks = 3}, strategy_plan("single")},
      {"ulysses_3", Kind::kAttention, {.ranks = 3}, strategy_plan("ulysses")},
      {"ulysses_4", Kind::kAttention, {.ranks = 4, .batch = 2}, strategy_plan("ulysses")},
      {"ulysses_text_sharded", Kind::kAttention, {.ranks = 4, .text = 5}, strategy_plan("ulysses")},
      {"ulysses_text_replicated", Kind::kAttention, text, strategy_plan("ulysses")},
      {"ulysses_pipelined",
       Kind::kAttention,
       {.ranks = 3, .heads = 8},
       strategy_plan("ulysses", {{"chunks", std::int64_t{2}}})},
      {"ring_contiguous", Kind::kAttention, {.ranks = 4}, strategy_plan("ring")},
      {"ring_cyclic",
       Kind::kAttention,
       {.ranks = 5, .batch = 2},
       strategy_plan("ring", {{"order", std::string("cyclic")}})},
      {"ring_more_ranks_than_blocks", Kind::kAttention, {.ranks = 6, .inner = 19}, strategy_plan("ring")},
      {"ring_text_sharded", Kind::kAttention, {.ranks = 4, .text = 5}, strategy_plan("ring")},
      {"ring_double",
       Kind::kAttention,
       {.ranks = 6, .ranks_per_node = 3},
       strategy_plan("burst", {{"order", std::string("cyclic")}})},
      {"ring_sparse", Kind::kAttention, {.ranks = 5}, plan_sparse_ring},
      {"ring_two_way", Kind::kAttention, {.ranks = 4}, plan_two_way_ring},
      {"allgather_kv_text_replicated", Kind::kAttention, text, strategy_plan("allgather_kv")},
      {"token_ring", Kind::kAttention, {.ranks = 4}, plan_token_ring},
      {"token_ring_fp32_batch", Kind::kAttention, {.ranks = 3, .batch = 2, .dtype = Dtype::kFp32}, plan_token_ring},
      {"usp_2x2", Kind::kAttention, {.ranks = 4}, usp(2, 2)},
      {"usp_2x3", Kind::kAttention, {.ranks = 6}, usp(2, 3)},
      {"usp_2x3_strided", Kind::kAttention, {.ranks = 6}, usp(2, 3, "strided")},
      {"usp_3x2_cyclic", Kind::kAttention, {.ranks = 6}, usp(3, 2, "contiguous", "cyclic")},
      {"balanced_usp_2x3", Kind::kAttention, {.ranks = 6}, balanced_usp(2, 3)},
      {"balanced_usp_1x4", Kind::kAttention, {.ranks = 4}, balanced_usp(1, 4)},
      {"torus_2x1x2_barrier", Kind::kRotaryAttention, {.ranks = 4}, torus(2, 1, kTorusBarrier)},
      {"torus_3x1x1_barrier", Kind::kRotaryAttention, {.ranks = 3}, torus(3, 1, kTorusBarrier)},
      {"torus_2x2x2_barrier", Kind::kRotaryAttention, {.ranks = 8}, torus(2, 2, kTorusBarrier)},
      {"torus_3x1x2_signals", Kind::kRotaryAttention, {.ranks = 6}, torus(3, 1, kTorusSignals)},
      {"torus_2x2x2_two_sided_again", Kind::kRotaryAttention, {.ranks = 8}, torus(2, 2, {.keeps = false})},
      {"torus_3x1x2_two_sided", Kind::kRotaryAttention, {.ranks = 6}, torus(3, 1, {})},
      {"ulysses_2d", Kind::kAttention, {.ranks = 3, .outer = 7, .inner = 19, .block = 4}, strategy_plan("ulysses")},
      {"ring_2d", Kind::kAttention, {.ranks = 3, .outer = 7, .inner = 19, .block = 4}, strategy_plan("ring")},
      {"dsp", Kind::kSpatialTemporal, {.ranks = 3, .outer = 7, .inner = 19, .block = 4, .batch = 2}, plan_dsp},
      {"cross_attention", Kind::kCrossAttention, {.ranks = 3, .batch = 2}, plan_cross_attention},
      {"double_block_ring", Kind::kDoubleBlock, {.ranks = 4, .text = 5}, plan_double_block_ring},
      {"double_block_ring_2d",
       Kind::kDoubleBlock,
       {.ranks = 2, .outer = 3, .inner = 19, .block = 4, .text = 3},
       plan_double_block_ring},
      {"double_block_text_replicated",
       Kind::kDoubleBlock,
       {.ranks = 4, .text = 5, .text_layout = TextLayout::kReplicate},
       plan_double_block_text_replicated},
  };
  static const std::vector<PlanCase> cases = [] {
    std::vector<PlanCase> all = others;
    std::ranges::move(megatron_cases(), std::back_inserter(all));
    return all;
  }();
  return cases;
}

void PrintTo(const PlanCase& plan_case, std::ostream* out) { *out << plan_case.name; }

}  // namespace spscope::testing
