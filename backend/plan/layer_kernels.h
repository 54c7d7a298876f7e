// The kernels of whole layers (rows of layer_kernels.def): which of them a layer uses, and their FLOPs.
//
// A strategy names them in its plan, an executor computes them. A kernel's parameters (weights, adaLN shifts and gates,
// the text that cross-attention reads) are keyed by its whole name and the tensors of its first operand, so that q and
// k have separate norm weights under one name.
//
// Layers, by LayerBlock; h = modulate(x) throughout, and parts after the dot:
//   kWan              q = rms_rope(wq h, sumsq), kv = rms_rope(wkv h, sumsq_k), x = gate.self(x, wo attention(q, kv));
//                     with text: q = rms.cross(cross_wq h, sumsq), x = residual(x, cross_wo cross_attention q);
//                     the k that cross_attention makes of the text are normed over all heads as well;
//                     x = gate.ffn(x, w2 gelu w1 h). Parts of modulate: self, cross, ffn
//   kJoint            one set of weights for video and text: q = head_rms_rope(wq h), k likewise, x = gate(x, wo o),
//                     then x = gate(x, w2 gelu w1 h); modulate and gate have parts video, text, ffn_video, ffn_text
//   kDoubleStream     the same, with every part apart: .video and .text, and of modulate and gate also .ffn_video and
//                     .ffn_text
//   kSingleStream     x = gate(x, wo attention(head_rms_rope(wq h), ...), w2 gelu w1 h), no parts; where ranks hold
//                     shares of both sums, x = gate(x, add_shares(wo ..., w2 ...)) is the same
//   kSpatialTemporal  for each of .spatial and .temporal: q = head_rms_rope(wq h), k likewise, x = gate(x, wo o); with
//                     text: x = residual(x, cross_wo cross_attention cross_wq x); then x = gate(x, w2 gelu w1 h) with
//                     parts .spatial_ffn and .temporal_ffn of modulate and gate, after the temporal block alone when
//                     the layer has one feed-forward network
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/plan/request.h"

namespace spscope {

enum class LayerOp {
#define CONTRACTION(id, name, in, out, result, what) id,
#define LOCAL(id, name, columns, flops, whole_rows, what) id,
#include "backend/plan/layer_kernels.def"
#undef CONTRACTION
#undef LOCAL
};

// "wq.video" -> op "wq", part "video"; the part is empty without a dot.
struct KernelName {
  std::string_view op, part;
};
KernelName split_kernel_name(std::string_view name);
// nullopt when the name, up to its dot, is not a row of layer_kernels.def.
std::optional<LayerOp> find_layer_op(std::string_view kernel_name);

// The kernel of this name for the shape of the request: axes, tensors and FLOPs. A gate counts one more FLOP for each
// operand that it adds beyond the second. REQUIRES: find_layer_op(name) has a value.
Kernel make_layer_kernel(const Request& request, std::string_view name);
// The kernels that the request's block uses; none for attention alone.
std::vector<Kernel> layer_kernels(const Request& request);

// Whether a kernel adds shares of sums that are pending: its result is pending in the groups of its operands.
bool adds_shares(const Kernel& kernel);
// Whether a kernel adds all operands but its first, so that their sum may stand for them.
bool adds_operands(const Kernel& kernel);

// Whether cross_attention divides its text keys by their root mean square over all heads. The text and its projection
// are parameters, which every rank has in full, so no plan communicates the sums of squares.
bool norms_text_keys(const Request& request);

// The form of a kernel's rotary embedding: the positions by which it rotates q and k.
enum class RotaryForm {
  kVideo,   // head dim in three parts: frame, row, column; text is not rotated
  kFrame,   // in two: row and column of the inner axis
  kFrames,  // by the outer axis alone
};
RotaryForm rotary_form(const Request& request, std::string_view kernel_name);

}  // namespace spscope
