#include "tests/support/dense_layer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "backend/base/flat_map.h"
#include "backend/base/rng.h"

namespace spscope::testing {
namespace {

constexpr double kNormEpsilon = 1e-6;
constexpr int kContextTokens = 3;  // of the text that cross-attention reads

std::uint64_t text_key(std::string_view text) {
  std::uint64_t key = text.size();
  for (char c : text) key = hash_mix(key, static_cast<unsigned char>(c));
  return key;
}

const Kernel& kernel_of(const Request& request, std::string_view name) {
  const auto found = std::ranges::find(request.kernels, name, &Kernel::name);
  if (found == request.kernels.end()) throw std::out_of_range("the layer has no kernel " + std::string(name));
  return *found;
}

// softmax(q k) v over a text that all heads share.
void cross_attend(std::vector<double>& row) {
  Rng rng(text_key(kCrossAttention));
  std::vector<double> out(row.size(), 0.0);
  double sum = 0;
  for (int token = 0; token < kContextTokens; ++token) {
    double score = 0;
    for (double q : row) score += q * rng.normal();
    sum += std::exp(score);
    for (double& o : out) o += std::exp(score) * rng.normal();
  }
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = out[j] / sum;
}

// Video tokens through one weight, text tokens through the other.
DenseTensor dense_streams(const Request& request, const std::string& weight, const DenseTensor& x, std::uint64_t seed) {
  DenseTensor y = dense_linear(request, weight + "_video", x, seed);
  const DenseTensor text = dense_linear(request, weight + "_text", x, seed);
  for (int c = 0; c < y.columns; ++c)
    for (int o = 0; o < y.outer; ++o)
      for (int i = request.inner_tokens - request.text_tokens; i < y.inner; ++i)
        std::copy_n(text.at(c, o, i), y.cell_elements(), y.at(c, o, i));
  return y;
}

// wo attention(rms(wq x), wkv x), with the norm of q over all its channels.
DenseTensor dense_block(const Request& request, AttendedAxis axis, const DenseTensor& x, std::uint64_t seed) {
  const DenseTensor q = dense_linear(request, "wq", x, seed), kv = dense_linear(request, "wkv", x, seed);
  const DenseTensor norm = dense_linear(request, kSumOfSquares, q, seed);
  const DenseTensor o = dense_attention(request, axis, dense_local(request, "rms", {&q, &norm}), kv);
  return dense_linear(request, "wo", o, seed);
}

}  // namespace

int tensor_set_width(const Request& request, TensorSet tensors) {
  int width = 0;
  for (int t = 0; t < kNumTensors; ++t)
    if (tensors.has(static_cast<Tensor>(t))) width += request.tensor_width(static_cast<Tensor>(t));
  return width;
}

DenseTensor::DenseTensor(const Request& request, Axis axis, TensorSet tensors)
    : axis(axis),
      columns(request.num_columns(axis)),
      outer(request.outer_tokens),
      inner(request.inner_tokens),
      batch(request.batch),
      width(tensor_set_width(request, tensors)),
      data(cells() * cell_elements(), 0.0) {}

DenseTensor dense_input(const Request& request, TensorSet tensors, Axis axis, int layer, std::uint64_t seed) {
  DenseTensor x(request, axis, tensors);
  Rng rng(seed, hash_mix(tensors.bits, static_cast<std::uint64_t>(layer)));
  for (double& element : x.data) element = rng.normal();
  return x;
}

Weight::Weight(const Request& request, const Kernel& kernel, std::uint64_t seed) {
  TensorSet in;
  for (const Tensor t : {Tensor::kO, Tensor::kX, Tensor::kF})
    if (columns_of(t) == kernel.in) in = TensorSet{t};
  in_width_ = tensor_set_width(request, in);
  out_columns_ = request.num_columns(kernel.out);
  out_width_ = tensor_set_width(request, kernel.tensors);
  const int rows = request.num_columns(kernel.in) * in_width_;
  data_.resize(static_cast<std::size_t>(rows) * static_cast<std::size_t>(out_columns_ * out_width_));
  Rng rng(seed, text_key(kernel.name));
  for (double& w : data_) w = rng.normal() / std::sqrt(rows);
}

void local_cell(std::string_view kernel, const Request& request, int token, std::vector<double>& own,
                const std::vector<std::vector<double>>& others) {
  if (kernel == "gelu") {
    for (double& x : own) x *= 0.5 * (1 + std::erf(x / std::sqrt(2.0)));
  } else if (kernel == "rms" && others.size() == 1) {
    const double mean = others[0][0] / (request.heads * request.head_dim);
    for (double& x : own) x /= std::sqrt(mean + kNormEpsilon);
  } else if (kernel == kCrossAttention) {
    cross_attend(own);
  } else if (kernel == "rope") {
    const double angle = 0.1 * token;
    for (std::size_t j = 0; j + 1 < own.size(); j += 2) {
      const double a = own[j], b = own[j + 1];
      own[j] = a * std::cos(angle) - b * std::sin(angle);
      own[j + 1] = a * std::sin(angle) + b * std::cos(angle);
    }
  } else {
    // A sum; any name but that of the residual connection weighs its operands in its own way.
    const double weight = kernel == "residual" ? 1.0 : 1.0 + static_cast<double>(text_key(kernel) % 97) / 97;
    for (const std::vector<double>& other : others)
      for (std::size_t j = 0; j < own.size(); ++j) own[j] += weight * other[j % other.size()];
  }
}

bool attends_to(const BlockMask& mask, int head, std::int32_t query, std::int32_t key) {
  const auto block = [&](std::int32_t token) {
    const auto starts = mask.coarse_starts();
    return static_cast<std::int32_t>(std::ranges::upper_bound(starts, token) - starts.begin()) - 1;
  };
  return mask.active(head, block(query), block(key));
}

DenseTensor dense_attention(const Request& request, AttendedAxis axis, const DenseTensor& q, const DenseTensor& kv) {
  const bool inner = axis == AttendedAxis::kInner;
  const BlockMask& mask = request.executed_mask(axis).mask();
  const int d = request.head_dim, tokens = inner ? q.inner : q.outer, sequences = inner ? q.outer : q.inner;
  const auto at = [&](auto& x, int head, int seq, int token, int b) {
    return (inner ? x.at(head, seq, token) : x.at(head, token, seq)) + b * x.width;
  };
  DenseTensor o(request, Axis::kHeads, kOutputs);
  std::vector<double> scores(static_cast<std::size_t>(tokens));
  for (int head = 0; head < q.columns; ++head)
    for (int seq = 0; seq < sequences; ++seq)
      for (int query = 0; query < tokens; ++query)
        for (int b = 0; b < q.batch; ++b) {
          double peak = -std::numeric_limits<double>::infinity(), sum = 0;
          for (int key = 0; key < tokens; ++key) {
            double& score = scores[static_cast<std::size_t>(key)];
            score = -std::numeric_limits<double>::infinity();
            if (!attends_to(mask, head, query, key)) continue;
            score = 0;
            for (int j = 0; j < d; ++j) score += at(q, head, seq, query, b)[j] * at(kv, head, seq, key, b)[j];
            score /= std::sqrt(d);
            peak = std::max(peak, score);
          }
          if (std::isinf(peak)) continue;
          double* row = at(o, head, seq, query, b);
          for (int key = 0; key < tokens; ++key) {
            const double p = std::exp(scores[static_cast<std::size_t>(key)] - peak);
            sum += p;
            for (int j = 0; j < d; ++j) row[j] += p * at(kv, head, seq, key, b)[d + j];
          }
          for (int j = 0; j < d; ++j) row[j] /= sum;
        }
  return o;
}

DenseTensor dense_linear(const Request& request, std::string_view name, const DenseTensor& x, std::uint64_t seed) {
  const Kernel& kernel = kernel_of(request, name);
  const Weight weight(request, kernel, seed);
  DenseTensor y(request, kernel.out, kernel.tensors);
  for (int o = 0; o < x.outer; ++o)
    for (int i = 0; i < x.inner; ++i)
      for (int b = 0; b < x.batch; ++b)
        for (int c_in = 0; c_in < x.columns; ++c_in)
          for (int w_in = 0; w_in < x.width; ++w_in) {
            const double element = x.at(c_in, o, i)[b * x.width + w_in];
            for (int c_out = 0; c_out < y.columns; ++c_out)
              for (int w_out = 0; w_out < y.width; ++w_out)
                y.at(c_out, o, i)[b * y.width + w_out] +=
                    element * (name == kSumOfSquares ? element : weight(c_in, w_in, c_out, w_out));
          }
  return y;
}

DenseTensor dense_local(const Request& request, std::string_view kernel,
                        const std::vector<const DenseTensor*>& values) {
  DenseTensor y = *values.front();
  std::vector<double> own(static_cast<std::size_t>(y.width));
  std::vector<std::vector<double>> others(values.size() - 1);
  for (int c = 0; c < y.columns; ++c)
    for (int o = 0; o < y.outer; ++o)
      for (int i = 0; i < y.inner; ++i)
        for (int b = 0; b < y.batch; ++b) {
          double* cell = y.at(c, o, i) + b * y.width;
          own.assign(cell, cell + y.width);
          for (std::size_t v = 1; v < values.size(); ++v) {
            const DenseTensor& x = *values[v];
            others[v - 1].assign(static_cast<std::size_t>(x.width), 0.0);
            const bool same = x.axis == y.axis;
            for (int column = same ? c : 0; column < (same ? c + 1 : x.columns); ++column)
              for (int w = 0; w < x.width; ++w)
                others[v - 1][static_cast<std::size_t>(w)] += x.at(column, o, i)[b * x.width + w];
          }
          local_cell(kernel, request, o * y.inner + i, own, others);
          std::ranges::copy(own, cell);
        }
  return y;
}

std::vector<DenseTensor> dense_layer(const Request& request, LayerKind kind, std::uint64_t seed) {
  if (kind == LayerKind::kAttention) {
    std::vector<DenseTensor> outputs;
    int layer = 0;
    for (const AttendedAxis axis : {AttendedAxis::kInner, AttendedAxis::kOuter}) {
      if (!request.attends(axis)) continue;
      outputs.push_back(dense_attention(request, axis, dense_input(request, kQueries, Axis::kHeads, layer, seed),
                                        dense_input(request, kKeysValues, Axis::kHeads, layer, seed)));
      ++layer;
    }
    return outputs;
  }
  if (kind == LayerKind::kRotaryAttention) {
    const DenseTensor q = dense_input(request, kQueries, Axis::kHeads, 0, seed);
    const DenseTensor kv = dense_input(request, kKeysValues, Axis::kHeads, 0, seed);
    return {dense_attention(request, AttendedAxis::kInner, dense_local(request, "rope", {&q}),
                            dense_local(request, "rope", {&kv}))};
  }
  DenseTensor x = dense_input(request, kHiddenState, Axis::kHidden, 0, seed);
  if (kind == LayerKind::kCrossAttention) {
    const DenseTensor q = dense_linear(request, "wq", x, seed);
    const DenseTensor y = dense_linear(request, "wo", dense_local(request, kCrossAttention, {&q}), seed);
    return {dense_local(request, "residual", {&x, &y})};
  }
  if (kind == LayerKind::kDoubleBlock) {
    const DenseTensor q = dense_streams(request, "wq", x, seed), kv = dense_streams(request, "wkv", x, seed);
    const DenseTensor y = dense_streams(request, "wo", dense_attention(request, AttendedAxis::kInner, q, kv), seed);
    return {dense_local(request, "residual", {&x, &y})};
  }
  const auto add = [&](const DenseTensor& y) { x = dense_local(request, "residual", {&x, &y}); };
  add(dense_block(request, AttendedAxis::kInner, x, seed));
  if (kind == LayerKind::kSpatialTemporal)
    add(dense_block(request, AttendedAxis::kOuter, x, seed));
  else {
    const DenseTensor f = dense_linear(request, "w1", x, seed);
    add(dense_linear(request, "w2", dense_local(request, "gelu", {&f}), seed));
  }
  return {x};
}

}  // namespace spscope::testing
