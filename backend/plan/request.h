// Request: the workload that a strategy plans for, and the only input that verify() trusts.
//
// It is made once per layer (backend/job/layer_request.h) and holds shapes, the masks that will run, the masks that are
// known when planning, the kernels, and the expected outputs. Planning on the mask that is about to run would be an
// oracle where masks follow from the values of their step. A strategy reads `known_mask`; tiles are counted on
// `executed_mask`.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/base/dtype.h"
#include "backend/config/cluster.h"
#include "backend/config/run_config.h"
#include "backend/plan/mask_counter.h"
#include "backend/plan/plan.h"

namespace spscope {

// Identity of a value, whichever rank holds it: a hash of its kernel and operands (terms.h). Moves preserve it.
using Term = std::uint64_t;

// One output of the layer, taken from the plan `single`: the whole tensor and its term.
struct ExpectedOutput {
  TensorSet tensors;  // o, or x
  Axis columns = Axis::kHeads;
  int layer = 0;
  Term term = 0;
};

// The structure of a layer around its attention.
enum class LayerBlock {
  kAttention,        // the attention alone: inputs q, k and v, output o (run.scope = attention)
  kWan,              // self-attention, cross-attention to text, feed-forward network
  kJoint,            // video and text in one stream, modulated apart (CogVideoX)
  kDoubleStream,     // video and text with weights of their own, attending together (MM-DiT)
  kSingleStream,     // one stream; attention and feed-forward network side by side (MM-DiT)
  kSpatialTemporal,  // attention inside each frame, then along frames
};

struct Request {
  int ranks = 1;
  // Forward passes of guidance that run at once, each on its part of the ranks and on inputs of its own. Strategies see
  // a request of one pass (plan/passes_at_once.h).
  int passes = 1;
  int heads = 1, head_dim = 1;
  std::int32_t outer_tokens = 1, inner_tokens = 0;  // the token grid
  std::int32_t text_tokens = 0;                     // at the end of the inner axis, or at its begin
  bool text_first = false;
  std::int32_t hidden = 0, ffn = 0;
  LayerBlock block = LayerBlock::kAttention;
  std::int32_t context_tokens = 0;  // text that cross-attention reads; 0: none
  int mlps = 1;                     // feed-forward networks of a spatial-temporal layer: one, or one after each block
  TokenGrid grid = {0, 0, 0};       // of the video tokens: their positions for rotary embeddings
  int batch = 1;
  Dtype dtype = Dtype::kBf16;
  TextLayout text = TextLayout::kShard;
  int ranks_per_node = 0;  // 0: all ranks on one node
  int ranks_in_use = 0;    // of the cluster, by all guidance passes and replicas; 0: ranks
  // Costs for strategies that choose by predicted time; nullptr: unknown. Must outlive the request.
  const ClusterPreset* cluster = nullptr;

  std::shared_ptr<SetTable> sets;
  std::shared_ptr<MaskCounter> executed_masks[2];  // by axis: [0] outer, [1] inner; null when that axis is not attended
  std::shared_ptr<MaskCounter> known_masks[2];     // null when no mask is known yet: plan contiguously
  // The kernels of the layer that contract, that do not cost one FLOP an element, or that read whole rows; any other
  // name is a kernel without weights that works element by element.
  std::vector<Kernel> kernels;
  std::vector<ExpectedOutput> outputs;

  static int axis_index(AttendedAxis axis) { return axis == AttendedAxis::kOuter ? 0 : 1; }
  bool attends(AttendedAxis axis) const { return executed_masks[axis_index(axis)] != nullptr; }
  MaskCounter& executed_mask(AttendedAxis axis = AttendedAxis::kInner) const {
    return *executed_masks[axis_index(axis)];
  }
  // nullptr when no mask is known yet.
  MaskCounter* known_mask(AttendedAxis axis = AttendedAxis::kInner) const {
    return known_masks[axis_index(axis)].get();
  }
  // Spatial attention along the inner axis, then temporal along the outer one.
  bool spatiotemporal() const { return attends(AttendedAxis::kOuter); }

  std::int32_t num_columns(Axis axis) const;
  // Elements per column and token.
  std::int32_t tensor_width(Tensor tensor) const;
  SetId all_columns(Axis axis) const { return sets->span(0, num_columns(axis)); }
  SetId all_heads() const { return sets->span(0, heads); }
  SetId all_outer() const { return sets->span(0, outer_tokens); }
  SetId all_inner() const { return sets->span(0, inner_tokens); }
  SetId words() const {
    return text_first ? sets->span(0, text_tokens) : sets->span(inner_tokens - text_tokens, inner_tokens);
  }
  SetId video() const { return sets->minus(all_inner(), words()); }
  // Everything: all columns of the axis, all tokens.
  Box whole(Axis axis = Axis::kHeads) const { return {all_columns(axis), all_outer(), all_inner()}; }

  // A request for one full 3D attention over one mask, without text; used by tests and benches too.
  static Request attention(int ranks, int heads, int head_dim, BlockMask mask, Dtype dtype = Dtype::kBf16);
};

// Attentions in a layer of this request, for one pass: 1, or 2 for a spatial-temporal model.
int num_attentions(const Request& request);

}  // namespace spscope
