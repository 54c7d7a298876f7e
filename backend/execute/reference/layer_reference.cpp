#include "backend/execute/reference/layer_reference.h"

#include <algorithm>
#include <functional>
#include <string>

#include "backend/base/check.h"

namespace spscope {
namespace {

using Tokens = std::vector<GridToken>;

// Rows at some tokens of the grid.
struct At {
  Tokens tokens;
  DenseRows rows;
};

class DenseLayer {
 public:
  DenseLayer(const Request& request, const Activations& activations, int entry)
      : request_(request), activations_(activations), parameters_(*activations.parameters), entry_(entry) {}

  DenseRows wan(At x) const;
  DenseRows joint(At x) const;
  DenseRows double_stream(At x) const;
  DenseRows single_stream(At x) const;
  DenseRows spatial_temporal(At x) const;

  Tokens all_tokens() const;
  At input(Tokens tokens) const;

 private:
  Kernel kernel(const std::string& name) const { return make_layer_kernel(request_, name); }
  std::span<const float> numbers(const std::string& name, TensorSet tensors, ChannelParameter which) const {
    return parameters_.channels(request_, kernel(name), tensors, which);
  }
  bool is_text(GridToken token) const {
    const int begin = request_.text_first ? 0 : request_.inner_tokens - request_.text_tokens;
    return begin <= token.inner && token.inner < begin + request_.text_tokens;
  }
  DenseRows linear(const std::string& name, const DenseRows& x) const {
    return dense_product(x, parameters_.weight(request_, kernel(name)));
  }
  DenseRows modulate(const std::string& name, const DenseRows& x) const {
    return dense_modulate(x, numbers(name, kHiddenState, ChannelParameter::kScale),
                          numbers(name, kHiddenState, ChannelParameter::kShift));
  }
  void gate(const std::string& name, DenseRows& x, const DenseRows& y) const {
    dense_add(x, y, numbers(name, kHiddenState, ChannelParameter::kGate));
  }
  DenseRows feed_forward(const DenseRows& h, const std::string& dot_part) const {
    DenseRows f = linear("w1" + dot_part, h);
    dense_gelu(f);
    return linear("w2" + dot_part, f);
  }
  // q, or k and v, of h: projected by `weight`, normed and turned by `norm`.
  DenseRows heads(const std::string& weight, const std::string& norm, TensorSet tensors, NormExtent extent,
                  const At& h) const {
    DenseRows made = linear(weight, h.rows);
    const std::int64_t stride = tensors == kQueries ? request_.head_dim : 2 * request_.head_dim;
    dense_rms(made, request_, stride, extent, numbers(norm, tensors, ChannelParameter::kNormWeight));
    dense_rotate(made, request_, stride, rotary_form(request_, norm), h.tokens);
    return made;
  }
  // With the keys of the text normed over all heads, or as they are projected.
  DenseRows text_attention(const std::string& name, const DenseRows& q, bool normed) const;
  // Video and text apart: `compute` of the rows of each, put together again.
  DenseRows by_stream(const At& x, const std::function<DenseRows(const std::string& part, const At&)>& compute) const;
  void block(At& x, const At& all, AttendedAxis axis, const std::string& part, bool has_ffn) const;

  const Request& request_;
  const Activations& activations_;
  LayerParameters& parameters_;
  int entry_;
};

Tokens DenseLayer::all_tokens() const {
  Tokens tokens;
  for (std::int32_t outer = 0; outer < request_.outer_tokens; ++outer)
    for (std::int32_t inner = 0; inner < request_.inner_tokens; ++inner) tokens.push_back({outer, inner});
  return tokens;
}

At DenseLayer::input(Tokens tokens) const {
  At x{std::move(tokens), {}};
  x.rows = DenseRows(static_cast<std::int64_t>(x.tokens.size()), request_.hidden);
  const std::int64_t grid = std::int64_t{request_.outer_tokens} * request_.inner_tokens;
  for (std::size_t t = 0; t < x.tokens.size(); ++t)
    for (std::int64_t c = 0; c < request_.hidden; ++c) {
      const std::int64_t cell = (std::int64_t{entry_} * request_.hidden + c) * grid +
                                std::int64_t{x.tokens[t].outer} * request_.inner_tokens + x.tokens[t].inner;
      x.rows.row(static_cast<std::int64_t>(t))[c] = activations_.x[static_cast<std::size_t>(cell)];
    }
  return x;
}

DenseRows DenseLayer::text_attention(const std::string& name, const DenseRows& q, bool normed) const {
  const ParameterMatrix& text = parameters_.text(request_);
  DenseRows rows(request_.context_tokens, request_.hidden);
  std::vector<float> stored(static_cast<std::size_t>(request_.hidden));
  for (std::int64_t t = 0; t < rows.tokens; ++t) {
    text.read_row(entry_ * rows.tokens + t, 0, stored);
    std::ranges::copy(stored, rows.row(t));
  }
  DenseRows kv = dense_product(rows, parameters_.text_weight(request_, kernel(name)));
  if (normed)
    dense_rms(kv, request_, 2 * request_.head_dim, NormExtent::kAllHeads,
              numbers(name, kKeysValues, ChannelParameter::kNormWeight));
  return dense_text_attention(request_, q, kv);
}

DenseRows DenseLayer::by_stream(const At& x,
                                const std::function<DenseRows(const std::string&, const At&)>& compute) const {
  DenseRows out;
  for (const bool text : {false, true}) {
    At stream;
    std::vector<std::int64_t> places;
    for (std::size_t t = 0; t < x.tokens.size(); ++t)
      if (is_text(x.tokens[t]) == text) {
        stream.tokens.push_back(x.tokens[t]);
        places.push_back(static_cast<std::int64_t>(t));
      }
    if (places.empty()) continue;
    stream.rows = DenseRows(static_cast<std::int64_t>(places.size()), x.rows.channels);
    for (std::size_t i = 0; i < places.size(); ++i)
      std::copy_n(x.rows.row(places[i]), x.rows.channels, stream.rows.row(static_cast<std::int64_t>(i)));
    const DenseRows made = compute(text ? "text" : "video", stream);
    if (out.tokens == 0) out = DenseRows(x.rows.tokens, made.channels);
    for (std::size_t i = 0; i < places.size(); ++i)
      std::copy_n(made.row(static_cast<std::int64_t>(i)), made.channels, out.row(places[i]));
  }
  return out;
}

DenseRows DenseLayer::wan(At x) const {
  const At all = input(all_tokens());
  const At h_all{all.tokens, modulate("modulate.self", all.rows)}, h{x.tokens, modulate("modulate.self", x.rows)};
  const DenseRows kv = heads("wkv", "rms_rope", kKeysValues, NormExtent::kAllHeads, h_all);
  const DenseRows q = heads("wq", "rms_rope", kQueries, NormExtent::kAllHeads, h);
  const DenseRows o = dense_attention(request_, AttendedAxis::kInner, q, x.tokens, kv, all.tokens);
  gate("gate.self", x.rows, linear("wo", o));
  if (request_.context_tokens > 0) {
    DenseRows cross = linear("cross_wq", modulate("modulate.cross", x.rows));
    dense_rms(cross, request_, request_.head_dim, NormExtent::kAllHeads,
              numbers("rms.cross", kQueries, ChannelParameter::kNormWeight));
    dense_add(x.rows, linear("cross_wo", text_attention("cross_attention", cross, true)));
  }
  gate("gate.ffn", x.rows, feed_forward(modulate("modulate.ffn", x.rows), ""));
  return x.rows;
}

// One set of weights; only what the timestep says differs between video and text.
DenseRows DenseLayer::joint(At x) const {
  const At all = input(all_tokens());
  const auto modulated = [&](const At& at, const std::string& prefix) {
    return At{at.tokens, by_stream(at, [&](const std::string& part, const At& stream) {
                return modulate("modulate." + prefix + part, stream.rows);
              })};
  };
  const auto gated = [&](const std::string& prefix, const DenseRows& y) {
    const DenseRows gates = by_stream(At{x.tokens, y}, [&](const std::string& part, const At& stream) {
      DenseRows scaled(stream.rows.tokens, stream.rows.channels);
      gate("gate." + prefix + part, scaled, stream.rows);
      return scaled;
    });
    dense_add(x.rows, gates);
  };
  const DenseRows kv = heads("wkv", "head_rms_rope", kKeysValues, NormExtent::kEachHead, modulated(all, ""));
  const DenseRows q = heads("wq", "head_rms_rope", kQueries, NormExtent::kEachHead, modulated(x, ""));
  gated("", linear("wo", dense_attention(request_, AttendedAxis::kInner, q, x.tokens, kv, all.tokens)));
  gated("ffn_", feed_forward(modulated(x, "ffn_").rows, ""));
  return x.rows;
}

DenseRows DenseLayer::double_stream(At x) const {
  const At all = input(all_tokens());
  const auto projected = [&](const At& at, const std::string& weight, TensorSet tensors) {
    return by_stream(at, [&](const std::string& part, const At& stream) {
      const At h{stream.tokens, modulate("modulate." + part, stream.rows)};
      return heads(weight + "." + part, "head_rms_rope." + part, tensors, NormExtent::kEachHead, h);
    });
  };
  const DenseRows kv = projected(all, "wkv", kKeysValues), q = projected(x, "wq", kQueries);
  const At o{x.tokens, dense_attention(request_, AttendedAxis::kInner, q, x.tokens, kv, all.tokens)};
  dense_add(x.rows, by_stream(o, [&](const std::string& part, const At& stream) {
              DenseRows scaled(stream.rows.tokens, request_.hidden);
              gate("gate." + part, scaled, linear("wo." + part, stream.rows));
              return scaled;
            }));
  return by_stream(x, [&](const std::string& part, const At& stream) {
    DenseRows out = stream.rows;
    gate("gate.ffn_" + part, out, feed_forward(modulate("modulate.ffn_" + part, out), "." + part));
    return out;
  });
}

DenseRows DenseLayer::single_stream(At x) const {
  const At all = input(all_tokens());
  const At h_all{all.tokens, modulate("modulate", all.rows)}, h{x.tokens, modulate("modulate", x.rows)};
  const DenseRows kv = heads("wkv", "head_rms_rope", kKeysValues, NormExtent::kEachHead, h_all);
  const DenseRows q = heads("wq", "head_rms_rope", kQueries, NormExtent::kEachHead, h);
  DenseRows sum = linear("wo", dense_attention(request_, AttendedAxis::kInner, q, x.tokens, kv, all.tokens));
  dense_add(sum, feed_forward(h.rows, ""));
  gate("gate", x.rows, sum);
  return x.rows;
}

// One of the two blocks of a spatial-temporal layer; `all` are the tokens that serve as keys.
void DenseLayer::block(At& x, const At& all, AttendedAxis axis, const std::string& part, bool has_ffn) const {
  const std::string dot = "." + part;
  const At h_all{all.tokens, modulate("modulate" + dot, all.rows)}, h{x.tokens, modulate("modulate" + dot, x.rows)};
  const DenseRows kv = heads("wkv" + dot, "head_rms_rope" + dot, kKeysValues, NormExtent::kEachHead, h_all);
  const DenseRows q = heads("wq" + dot, "head_rms_rope" + dot, kQueries, NormExtent::kEachHead, h);
  gate("gate" + dot, x.rows, linear("wo" + dot, dense_attention(request_, axis, q, x.tokens, kv, all.tokens)));
  if (request_.context_tokens > 0)
    dense_add(x.rows, linear("cross_wo" + dot,
                             text_attention("cross_attention" + dot, linear("cross_wq" + dot, x.rows), false)));
  if (has_ffn) gate("gate" + dot + "_ffn", x.rows, feed_forward(modulate("modulate" + dot + "_ffn", x.rows), dot));
}

DenseRows DenseLayer::spatial_temporal(At x) const {
  block(x, input(all_tokens()), AttendedAxis::kInner, "spatial", request_.mlps == 2);
  const At keys = x;
  block(x, keys, AttendedAxis::kOuter, "temporal", true);
  return x.rows;
}

}  // namespace

double layer_reference_work(const Request& request, std::int64_t num_tokens) {
  const double hidden = request.hidden, heads = double{1} * request.heads * request.head_dim;
  const double all = double{1} * request.outer_tokens * request.inner_tokens, some = static_cast<double>(num_tokens);
  const double keys = double{1} * request.inner_tokens + (request.spatiotemporal() ? request.outer_tokens : 0);
  const double attentions = request.spatiotemporal() ? 2 : 1;
  const double context = request.context_tokens;
  double work = (all + (attentions - 1) * some) * 2 * hidden * heads;   // k and v
  work += some * (attentions * 2 * hidden * heads + 2 * keys * heads);  // q, o, attention
  work += some * std::max(1, request.mlps) * 2 * hidden * request.ffn;  // feed-forward networks
  if (context > 0) work += attentions * (some * (2 * hidden + 2 * context) + context * 2 * hidden) * heads;
  return work;
}

DenseRows layer_reference(const Request& request, const Activations& activations, int batch_entry,
                          std::span<const GridToken> tokens) {
  const DenseLayer layer(request, activations, batch_entry);
  At x = layer.input(Tokens(tokens.begin(), tokens.end()));
  switch (request.block) {
    case LayerBlock::kAttention:
      break;
    case LayerBlock::kWan:
      return layer.wan(std::move(x));
    case LayerBlock::kJoint:
      return layer.joint(std::move(x));
    case LayerBlock::kDoubleStream:
      return layer.double_stream(std::move(x));
    case LayerBlock::kSingleStream:
      return layer.single_stream(std::move(x));
    case LayerBlock::kSpatialTemporal:
      return layer.spatial_temporal(std::move(x));
  }
  SPSCOPE_CHECK(request.block != LayerBlock::kAttention);
  return {};
}

}  // namespace spscope
