// The token-local work of a DiT layer beside its matrix products, on one core, in fp32.
//
// Notation: C channels, H heads, D channels of a head, T tokens. Arrays are [C][T] (hidden state, feed-forward network)
// or [H][T][D] (queries, keys), as the executor holds them; parameters are [C] or [H][D]. Sums over channels are taken
// in double precision. Nothing is allocated. `out` may be x unless stated otherwise.
#pragma once

#include <cstdint>
#include <span>

namespace spscope::kernels {

// Added to a mean square before its root is taken, in every norm.
inline constexpr double kNormEpsilon = 1e-6;

struct ChannelShape {
  std::int64_t channels = 0, tokens = 0;  // C, T
};
struct HeadShape {
  std::int64_t heads = 0, tokens = 0, dim = 0;  // H, T, D
};

// adaLN: normal(x) * (1 + scale) + shift, where normal has mean 0 and variance 1 over the channels of each token.
// `statistics` holds 2 T doubles. REQUIRES: all channels of the tokens.
void modulate(const ChannelShape& shape, const float* x, const float* scale, const float* shift, double* statistics,
              float* out);

// out = x + gate * (sum of the branches); branches and out [C][T], out none of the branches.
void gate(const ChannelShape& shape, const float* x, std::span<const float* const> branches, const float* gate,
          float* out);

// GELU in its tanh form: x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))). out is not x.
void gelu_tanh(std::span<const float> x, std::span<float> out);

// sums[T] = sum over heads and channels of x^2.
void sum_of_squares(const HeadShape& shape, const float* x, double* sums);

// out = x * weight / sqrt(square_sums / num_channels + epsilon): square_sums[T] was taken over `num_channels` channels.
void scale_by_rms(const HeadShape& shape, const float* x, const float* square_sums, std::int64_t num_channels,
                  const float* weight, float* out);

// The same with the mean square of each head's own channels.
void scale_by_head_rms(const HeadShape& shape, const float* x, const float* weight, float* out);

// Classifier-free guidance of P predictions of a token, each of C / P channels; the last is that without a condition,
// u: every prediction of out is u + kGuidanceScale * sum over the others c of (c - u). out is not x. REQUIRES: P
// divides C.
inline constexpr float kGuidanceScale = 5;  // usual for video; no time depends on it
void guide(const ChannelShape& shape, std::int64_t predictions, const float* x, float* out);

// Rotates the pairs of channels (2i, 2i + 1) of every head of x, in place, by the angles whose cosine and sine are
// [T][D / 2]; the last channel of an odd D is unchanged.
void rotate(const HeadShape& shape, const float* cosine, const float* sine, float* x);

}  // namespace spscope::kernels
