// Plans beyond the project's own strategies, written in the builder's vocabulary: the proof that it can say them all.
// Each is a published scheme, or a pattern that tries a corner of the vocabulary; all are run, verified and counted.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "backend/plan/plan_builder.h"
#include "backend/strategies/collectives.h"
#include "backend/strategies/sharding.h"
#include "backend/strategies/torus_attention.h"

namespace spscope::testing {

// The layers that the plans compute.
enum class LayerKind {
  kAttention,        // attention along each attended axis on inputs of its own
  kRotaryAttention,  // the same along inner, on q and kv turned by "rope"
  kMegatronLayer,    // x + block(x); + w2 gelu(w1 x)
  kSpatialTemporal,  // x + block(x) along inner, then along outer
  kCrossAttention,   // x + wo cross(wq x): every token to a text that is a parameter
  kDoubleBlock,      // x + wo attention(wq x, wkv x), with weights of their own for video and for text
};
inline constexpr std::string_view kCrossAttention = "cross_attention", kSumOfSquares = "sumsq";

// A small layer with a seeded mask: awkward numbers by default, so that nothing divides evenly.
struct LayerShape {
  int ranks = 1, heads = 5, head_dim = 4;
  std::int32_t outer = 1, inner = 67, block = 8;  // blocks of the outer axis have 2 tokens
  std::int32_t text = 0;                          // at the end of the inner axis, in a block of its own
  std::int32_t ffn = 0;
  int batch = 1;
  Dtype dtype = Dtype::kBf16;
  TextLayout text_layout = TextLayout::kShard;
  int ranks_per_node = 0;  // 0: all on one node
};

// Masks (density about 0.35, uneven over heads, one row of head 0 empty, text fully active), kernels and outputs.
Request layer_request(const LayerShape& shape, LayerKind kind);
// What `kind` is: the whole layer on rank 0.
void plan_whole_layer(PlanBuilder& b, const Request& request, LayerKind kind);

using PlanFunction = std::function<void(PlanBuilder&, const Request&)>;
Plan build(const PlanFunction& plan, const Request& request);
// A plan of strategies.def.
PlanFunction strategy_plan(std::string_view name,
                           std::vector<std::pair<std::string_view, ParameterValue>> settings = {});
// That of dbsp which moves blocks wherever they balance best.
PlanFunction balanced_usp(std::int64_t ulysses, std::int64_t ring);

// -- rings (library_rings.cpp)
// Queries travel, unfinished rows return.
void plan_token_ring(PlanBuilder& b, const Request& request);
// Keys travel on only where a rank still attends to them.
void plan_sparse_ring(PlanBuilder& b, const Request& request);
// Half of the heads travel each way.
void plan_two_way_ring(PlanBuilder& b, const Request& request);

// -- torus: its attention on q and kv that ranks make, so that others must know when; Ulysses of `ulysses` inside nodes
void plan_torus(PlanBuilder& b, const Request& request, int nodes, int ulysses, const TorusWay& way);
inline constexpr TorusWay kTorusBarrier{.one_sided = true, .barrier = true}, kTorusSignals{.one_sided = true};

// -- whole layers (library_layers.cpp)
// Sharded weights; the state between blocks is cut over tokens (sequence_parallel) or replicated.
void plan_megatron(PlanBuilder& b, const Request& request, bool sequence_parallel,
                   CollectiveAlgorithm algorithm = CollectiveAlgorithm::kFlat);
// The hidden state switches between cuts along frames and along positions.
void plan_dsp(PlanBuilder& b, const Request& request);

// -- streams and text (library_streams.cpp)
// The text is a parameter of the kernel.
void plan_cross_attention(PlanBuilder& b, const Request& request);
// `weight`_video of the video tokens of a value beside `weight`_text of its text tokens.
ValueId per_stream(PlanBuilder& b, ValueId value, const std::string& weight);
void plan_double_block_ring(PlanBuilder& b, const Request& request);
void plan_double_block_text_replicated(PlanBuilder& b, const Request& request);

// -- all of them
struct PlanCase {
  std::string name;
  LayerKind kind;
  LayerShape shape;
  PlanFunction plan;
};
const std::vector<PlanCase>& plan_cases();
// How a failing test names it.
void PrintTo(const PlanCase& plan_case, std::ostream* out);

}  // namespace spscope::testing
