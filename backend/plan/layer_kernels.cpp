#include "backend/plan/layer_kernels.h"

#include <array>

#include "backend/base/check.h"

namespace spscope {
namespace {

constexpr TensorSet kFfnState{Tensor::kF}, kNormStat{Tensor::kNorm};

struct Row {
  LayerOp op;
  std::string_view name;
  bool contracts;
  Axis in, out;
  TensorSet result;
  int flops_per_channel;
  bool whole_rows;
};

constexpr Row kRows[] = {
#define CONTRACTION(id, name, in, out, result, what) {LayerOp::id, name, true, Axis::in, Axis::out, result, 0, false},
#define LOCAL(id, name, columns, flops, whole_rows, what) \
  {LayerOp::id, name, false, Axis::columns, Axis::columns, {}, flops, whole_rows},
#include "backend/plan/layer_kernels.def"
#undef CONTRACTION
#undef LOCAL
};

const Row* find_row(std::string_view kernel_name) {
  const std::string_view op = split_kernel_name(kernel_name).op;
  for (const Row& row : kRows)
    if (row.name == op) return &row;
  return nullptr;
}

// Cross-attention: scores and weighted values of every text token for each cell, and for each head the projection of
// the text to k and v, and where k is normed its squares, their sum and two factors.
void count_cross_attention(const Request& request, Kernel& kernel) {
  const std::int64_t text = request.context_tokens, dim = request.head_dim;
  kernel.flops_per_cell = 4 * text * dim;
  kernel.flops_per_column = 2 * text * request.hidden * 2 * dim;
  if (norms_text_keys(request)) kernel.flops_per_column += 4 * text * dim;
}

class KernelList {
 public:
  explicit KernelList(const Request& request) : request_(request) {}

  // Each op with the part, or without a dot when it is empty.
  void add(std::initializer_list<std::string_view> ops, std::string_view part = {}) {
    for (std::string_view op : ops) {
      std::string name(op);
      if (!part.empty()) name.append(".").append(part);
      kernels_.push_back(make_layer_kernel(request_, name));
    }
  }
  std::vector<Kernel> take() { return std::move(kernels_); }

 private:
  const Request& request_;
  std::vector<Kernel> kernels_;
};

void add_wan(const Request& request, KernelList& list) {
  list.add({"modulate"}, "self");
  list.add({"wq", "wkv", "sumsq", "sumsq_k", "rms_rope", "wo"});
  list.add({"gate"}, "self");
  if (request.context_tokens > 0) {
    list.add({"modulate"}, "cross");
    list.add({"cross_wq"});
    list.add({"rms"}, "cross");
    list.add({"cross_attention", "cross_wo", "residual"});
  }
  list.add({"modulate"}, "ffn");
  list.add({"w1", "gelu", "w2"});
  list.add({"gate"}, "ffn");
}

constexpr std::array<std::array<std::string_view, 2>, 2> kStreams = {{{"video", "ffn_video"}, {"text", "ffn_text"}}};

void add_joint(const Request& request, KernelList& list) {
  list.add({"wq", "wkv", "head_rms_rope", "wo", "w1", "gelu", "w2"});
  for (const auto& [stream, ffn] : kStreams)
    if (stream != "text" || request.text_tokens > 0)
      for (const std::string_view part : {stream, ffn}) list.add({"modulate", "gate"}, part);
}

void add_double_stream(const Request& request, KernelList& list) {
  for (const auto& [stream, ffn] : kStreams)
    if (stream != "text" || request.text_tokens > 0) {
      list.add({"modulate", "wq", "wkv", "head_rms_rope", "wo", "gate"}, stream);
      list.add({"modulate"}, ffn);
      list.add({"w1", "gelu", "w2"}, stream);
      list.add({"gate"}, ffn);
    }
}

void add_spatial_temporal(const Request& request, KernelList& list) {
  const auto add_block = [&](std::string_view part, std::string_view ffn, bool has_ffn) {
    list.add({"modulate", "wq", "wkv", "head_rms_rope", "wo", "gate"}, part);
    if (request.context_tokens > 0) list.add({"cross_wq", "cross_attention", "cross_wo", "residual"}, part);
    if (!has_ffn) return;
    list.add({"modulate"}, ffn);
    list.add({"w1", "gelu", "w2"}, part);
    list.add({"gate"}, ffn);
  };
  add_block("spatial", "spatial_ffn", request.mlps == 2);
  add_block("temporal", "temporal_ffn", true);
}

}  // namespace

KernelName split_kernel_name(std::string_view name) {
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) return {name, {}};
  return {name.substr(0, dot), name.substr(dot + 1)};
}

std::optional<LayerOp> find_layer_op(std::string_view kernel_name) {
  const Row* row = find_row(kernel_name);
  if (row == nullptr) return std::nullopt;
  return row->op;
}

Kernel make_layer_kernel(const Request& request, std::string_view name) {
  const Row* row = find_row(name);
  SPSCOPE_CHECK(row != nullptr);
  Kernel kernel{std::string(name), row->contracts, row->in, row->out, row->result};
  kernel.whole_rows = row->whole_rows;
  const std::int64_t channels = row->in == Axis::kHeads ? request.head_dim : 1;
  if (!row->contracts) kernel.flops_per_cell = row->flops_per_channel * channels;
  if (row->op == LayerOp::kCrossAttention) count_cross_attention(request, kernel);
  // Attention and feed-forward network side by side are added in one gate.
  if (row->op == LayerOp::kGate && request.block == LayerBlock::kSingleStream) ++kernel.flops_per_cell;
  return kernel;
}

std::vector<Kernel> layer_kernels(const Request& request) {
  KernelList list(request);
  switch (request.block) {
    case LayerBlock::kAttention:
      break;
    case LayerBlock::kWan:
      add_wan(request, list);
      break;
    case LayerBlock::kJoint:
      add_joint(request, list);
      break;
    case LayerBlock::kDoubleStream:
      add_double_stream(request, list);
      break;
    case LayerBlock::kSingleStream:
      list.add({"modulate", "wq", "wkv", "head_rms_rope", "wo", "w1", "gelu", "w2", "add_shares", "gate"});
      break;
    case LayerBlock::kSpatialTemporal:
      add_spatial_temporal(request, list);
      break;
  }
  return list.take();
}

bool adds_shares(const Kernel& kernel) { return find_layer_op(kernel.name) == LayerOp::kAddShares; }

bool adds_operands(const Kernel& kernel) {
  const std::optional<LayerOp> op = find_layer_op(kernel.name);
  return op == LayerOp::kGate || op == LayerOp::kResidual;
}

bool norms_text_keys(const Request& request) { return request.block == LayerBlock::kWan; }

RotaryForm rotary_form(const Request& request, std::string_view kernel_name) {
  if (request.block != LayerBlock::kSpatialTemporal) return RotaryForm::kVideo;
  return split_kernel_name(kernel_name).part == "temporal" ? RotaryForm::kFrames : RotaryForm::kFrame;
}

}  // namespace spscope
