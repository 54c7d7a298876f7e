// Plain loops, written so that a compiler makes vectors of them: along tokens where arrays are [C][T], along the
// channels of a head where they are [H][T][D]. All of it is bound by memory beside the matrix products of a layer.
#include "kernels/layer.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "backend/base/check.h"
#include "kernels/exponential.h"

namespace spscope::kernels {

void modulate(const ChannelShape& shape, const float* x, const float* scale, const float* shift, double* statistics,
              float* out) {
  const std::int64_t tokens = shape.tokens;
  double *mean = statistics, *factor = statistics + tokens;
  std::fill_n(statistics, 2 * tokens, 0.0);
  for (std::int64_t c = 0; c < shape.channels; ++c)
    for (std::int64_t t = 0; t < tokens; ++t) mean[t] += x[c * tokens + t];
  for (std::int64_t t = 0; t < tokens; ++t) mean[t] /= static_cast<double>(shape.channels);
  for (std::int64_t c = 0; c < shape.channels; ++c)
    for (std::int64_t t = 0; t < tokens; ++t) {
      const double centred = x[c * tokens + t] - mean[t];
      factor[t] += centred * centred;
    }
  for (std::int64_t t = 0; t < tokens; ++t)
    factor[t] = 1 / std::sqrt(factor[t] / static_cast<double>(shape.channels) + kNormEpsilon);
  for (std::int64_t c = 0; c < shape.channels; ++c) {
    const double by = 1.0 + scale[c], plus = shift[c];
    for (std::int64_t t = 0; t < tokens; ++t)
      out[c * tokens + t] = static_cast<float>((x[c * tokens + t] - mean[t]) * factor[t] * by + plus);
  }
}

void gate(const ChannelShape& shape, const float* x, std::span<const float* const> branches, const float* gate,
          float* out) {
  const std::int64_t tokens = shape.tokens;
  for (std::int64_t c = 0; c < shape.channels; ++c) {
    float* row = out + c * tokens;
    if (row != x + c * tokens) std::copy_n(x + c * tokens, tokens, row);
    for (const float* branch : branches)
      for (std::int64_t t = 0; t < tokens; ++t) row[t] += gate[c] * branch[c * tokens + t];
  }
}

// x * sigmoid(2u), with sigmoid by the exponential of a non-positive argument.
void gelu_tanh(std::span<const float> x, std::span<float> out) {
  SPSCOPE_CHECK(x.size() == out.size() && x.data() != out.data());
  const float root = std::sqrt(2.0f / std::numbers::pi_v<float>);
  const auto twice_u = [&](float v) { return 2 * root * (v + 0.044715f * v * v * v); };
  for (std::size_t i = 0; i < x.size(); ++i) out[i] = -std::abs(twice_u(x[i]));
  exp_nonpositive(out, out);
  for (std::size_t i = 0; i < x.size(); ++i) out[i] = x[i] * (x[i] >= 0 ? 1.0f : out[i]) / (1.0f + out[i]);
}

void sum_of_squares(const HeadShape& shape, const float* x, double* sums) {
  std::fill_n(sums, shape.tokens, 0.0);
  for (std::int64_t h = 0; h < shape.heads; ++h)
    for (std::int64_t t = 0; t < shape.tokens; ++t) {
      const float* row = x + (h * shape.tokens + t) * shape.dim;
      double sum = 0;
      for (std::int64_t i = 0; i < shape.dim; ++i) sum += static_cast<double>(row[i]) * row[i];
      sums[t] += sum;
    }
}

namespace {

// 1 / sqrt(mean + epsilon).
float factor_of(double square_sum, std::int64_t num_channels) {
  return static_cast<float>(1 / std::sqrt(square_sum / static_cast<double>(num_channels) + kNormEpsilon));
}

void scale_row(std::int64_t dim, const float* x, float factor, const float* weight, float* out) {
  for (std::int64_t i = 0; i < dim; ++i) out[i] = x[i] * factor * weight[i];
}

}  // namespace

void scale_by_rms(const HeadShape& shape, const float* x, const float* square_sums, std::int64_t num_channels,
                  const float* weight, float* out) {
  for (std::int64_t h = 0; h < shape.heads; ++h)
    for (std::int64_t t = 0; t < shape.tokens; ++t) {
      const std::int64_t first = (h * shape.tokens + t) * shape.dim;
      scale_row(shape.dim, x + first, factor_of(square_sums[t], num_channels), weight + h * shape.dim, out + first);
    }
}

void scale_by_head_rms(const HeadShape& shape, const float* x, const float* weight, float* out) {
  for (std::int64_t h = 0; h < shape.heads; ++h)
    for (std::int64_t t = 0; t < shape.tokens; ++t) {
      const std::int64_t first = (h * shape.tokens + t) * shape.dim;
      double sum = 0;
      for (std::int64_t i = 0; i < shape.dim; ++i) sum += static_cast<double>(x[first + i]) * x[first + i];
      scale_row(shape.dim, x + first, factor_of(sum, shape.dim), weight + h * shape.dim, out + first);
    }
}

void guide(const ChannelShape& shape, std::int64_t predictions, const float* x, float* out) {
  const std::int64_t num_cells = shape.channels / predictions * shape.tokens;  // of a prediction
  const float* unconditional = x + (predictions - 1) * num_cells;
  for (std::int64_t i = 0; i < num_cells; ++i) {
    float sum = 0;
    for (std::int64_t p = 0; p + 1 < predictions; ++p) sum += x[p * num_cells + i] - unconditional[i];
    const float guided = unconditional[i] + kGuidanceScale * sum;
    for (std::int64_t p = 0; p < predictions; ++p) out[p * num_cells + i] = guided;
  }
}

void rotate(const HeadShape& shape, const float* cosine, const float* sine, float* x) {
  const std::int64_t pairs = shape.dim / 2;
  for (std::int64_t h = 0; h < shape.heads; ++h)
    for (std::int64_t t = 0; t < shape.tokens; ++t) {
      float* row = x + (h * shape.tokens + t) * shape.dim;
      const float *c = cosine + t * pairs, *s = sine + t * pairs;
      for (std::int64_t i = 0; i < pairs; ++i) {
        const float first = row[2 * i], second = row[2 * i + 1];
        row[2 * i] = first * c[i] - second * s[i];
        row[2 * i + 1] = first * s[i] + second * c[i];
      }
    }
}

}  // namespace spscope::kernels
