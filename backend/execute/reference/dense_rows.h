// Rows of tokens in double precision, and the arithmetic of a DiT layer on them written out from its definitions: what
// layer_reference.cpp makes a layer of. Nothing here is shared with the kernels or with plans.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "backend/execute/layer_parameters.h"
#include "backend/plan/layer_kernels.h"

namespace spscope {

// [tokens][channels]; channels of q are [head][dim], of k and v [head][k, v][dim].
struct DenseRows {
  std::int64_t tokens = 0, channels = 0;
  std::vector<double> data;

  DenseRows() = default;
  DenseRows(std::int64_t num_tokens, std::int64_t num_channels)
      : tokens(num_tokens),
        channels(num_channels),
        data(static_cast<std::size_t>(num_tokens) * static_cast<std::size_t>(num_channels), 0.0) {}
  double* row(std::int64_t token) { return data.data() + token * channels; }
  const double* row(std::int64_t token) const { return data.data() + token * channels; }
};

// A token of the grid.
struct GridToken {
  std::int32_t outer = 0, inner = 0;
  friend bool operator==(const GridToken&, const GridToken&) = default;
};

// x w.
DenseRows dense_product(const DenseRows& x, const ParameterMatrix& weight);
// (x - mean) / sqrt(variance + epsilon) * (1 + scale) + shift.
DenseRows dense_modulate(const DenseRows& x, std::span<const float> scale, std::span<const float> shift);
// The root-mean-square norm of q, or of the k of k and v (`stride` = 2 head_dim), over all heads or over each head.
enum class NormExtent { kAllHeads, kEachHead };
void dense_rms(DenseRows& rows, const Request& request, std::int64_t stride, NormExtent extent,
               std::span<const float> weight);
// The rotary embedding of layer_kernels.h: turns pairs of channels by the tokens' places in the grid.
void dense_rotate(DenseRows& rows, const Request& request, std::int64_t stride, RotaryForm form,
                  std::span<const GridToken> tokens);
// Attention of each token of `queries` along the axis on the executed mask; `key_tokens` hold every token that an
// active block of one of their sequences has.
DenseRows dense_attention(const Request& request, AttendedAxis axis, const DenseRows& q,
                          std::span<const GridToken> queries, const DenseRows& kv,
                          std::span<const GridToken> key_tokens);
// Attention of every row of q to all rows of `text`, k and v as above.
DenseRows dense_text_attention(const Request& request, const DenseRows& q, const DenseRows& text);
// tanh form.
void dense_gelu(DenseRows& rows);
// x += gate * y; without a gate, x += y.
void dense_add(DenseRows& x, const DenseRows& y, std::span<const float> gate = {});

}  // namespace spscope
