// Each token-local kernel against its formula in double precision.
#include "kernels/layer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "backend/base/rng.h"

namespace spscope::kernels {
namespace {

constexpr int kChannels = 45, kTokens = 23, kHeads = 3, kDim = 15;  // the same number of elements either way

std::vector<float> random_floats(int count, std::uint64_t seed, double deviation = 1) {
  Rng rng(seed);
  std::vector<float> out;
  for (int i = 0; i < count; ++i) out.push_back(static_cast<float>(deviation * rng.normal()));
  return out;
}

std::size_t channel(int c, int t) { return static_cast<std::size_t>(c * kTokens + t); }
std::size_t head(int h, int t, int i) { return static_cast<std::size_t>((h * kTokens + t) * kDim + i); }

class LayerKernels : public ::testing::Test {
 protected:
  const std::vector<float> x = random_floats(kChannels * kTokens, 1, 3);
  const std::vector<float> p = random_floats(kChannels, 2), r = random_floats(kChannels, 3);
  std::vector<float> out = std::vector<float>(x.size());
  const ChannelShape channels{kChannels, kTokens};
  const HeadShape heads{kHeads, kTokens, kDim};
};

TEST_F(LayerKernels, ModulateIsALayerNormWithScaleAndShift) {
  std::vector<double> statistics(2 * kTokens);
  modulate(channels, x.data(), p.data(), r.data(), statistics.data(), out.data());
  for (int t = 0; t < kTokens; ++t) {
    double mean = 0, square = 0;
    for (int c = 0; c < kChannels; ++c) mean += x[channel(c, t)];
    mean /= kChannels;
    for (int c = 0; c < kChannels; ++c) square += std::pow(x[channel(c, t)] - mean, 2);
    for (int c = 0; c < kChannels; ++c) {
      const double normal = (x[channel(c, t)] - mean) / std::sqrt(square / kChannels + 1e-6);
      EXPECT_NEAR(out[channel(c, t)], normal * (1.0 + p[static_cast<std::size_t>(c)]) + r[static_cast<std::size_t>(c)],
                  1e-6 * (1 + std::abs(normal)));
    }
  }
}

TEST_F(LayerKernels, ModulateOfEqualChannelsIsTheShift) {
  const std::vector<float> equal(x.size(), 4.0f);
  std::vector<double> statistics(2 * kTokens);
  modulate(channels, equal.data(), p.data(), r.data(), statistics.data(), out.data());
  for (int c = 0; c < kChannels; ++c) EXPECT_EQ(out[channel(c, 3)], r[static_cast<std::size_t>(c)]);
}

TEST_F(LayerKernels, GateAddsEveryBranchTimesTheGateOfItsChannel) {
  const std::vector<float> y = random_floats(kChannels * kTokens, 4), z = random_floats(kChannels * kTokens, 5);
  const float* branches[] = {y.data(), z.data()};
  gate(channels, x.data(), branches, p.data(), out.data());
  for (int c = 0; c < kChannels; ++c)
    for (int t = 0; t < kTokens; ++t) {
      const double sum = double{y[channel(c, t)]} + z[channel(c, t)];
      EXPECT_NEAR(out[channel(c, t)], x[channel(c, t)] + p[static_cast<std::size_t>(c)] * sum, 5e-6);
    }
}

TEST_F(LayerKernels, GeluHasItsTanhForm) {
  std::vector<float> some = x;
  some.insert(some.end(), {0.0f, 60.0f, -60.0f, 1e-20f});
  out.resize(some.size());
  gelu_tanh(some, out);
  for (std::size_t i = 0; i < some.size(); ++i) {
    const double v = some[i];
    const double wanted = 0.5 * v * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (v + 0.044715 * v * v * v)));
    EXPECT_NEAR(out[i], wanted, 1e-6 * (std::abs(v) + 1e-20)) << v;
  }
}

TEST_F(LayerKernels, RootMeanSquaresAreOfAllHeadsOrOfEach) {
  std::vector<double> sums(kTokens);
  sum_of_squares(heads, x.data(), sums.data());
  const std::vector<float> stored(sums.begin(), sums.end());
  std::vector<float> by_head(x.size());
  scale_by_rms(heads, x.data(), stored.data(), kHeads * kDim, p.data(), out.data());
  scale_by_head_rms(heads, x.data(), p.data(), by_head.data());
  for (int t = 0; t < kTokens; ++t) {
    double all = 0;
    for (int h = 0; h < kHeads; ++h)
      for (int i = 0; i < kDim; ++i) all += std::pow(double{x[head(h, t, i)]}, 2);
    EXPECT_NEAR(sums[static_cast<std::size_t>(t)], all, 1e-9 * all);
    for (int h = 0; h < kHeads; ++h) {
      double own = 0;
      for (int i = 0; i < kDim; ++i) own += std::pow(double{x[head(h, t, i)]}, 2);
      for (int i = 0; i < kDim; ++i) {
        const double weighted = double{x[head(h, t, i)]} * p[static_cast<std::size_t>(h * kDim + i)];
        EXPECT_NEAR(out[head(h, t, i)], weighted / std::sqrt(all / (kHeads * kDim) + 1e-6), 1e-6 * std::abs(weighted));
        EXPECT_NEAR(by_head[head(h, t, i)], weighted / std::sqrt(own / kDim + 1e-6), 1e-6 * std::abs(weighted));
      }
    }
  }
}

TEST_F(LayerKernels, RotateTurnsPairsAndLeavesAnOddChannelAlone) {
  std::vector<float> cosine, sine;
  for (int t = 0; t < kTokens; ++t)
    for (int i = 0; i < kDim / 2; ++i) {
      cosine.push_back(static_cast<float>(std::cos(0.3 * t + i)));
      sine.push_back(static_cast<float>(std::sin(0.3 * t + i)));
    }
  out = x;
  rotate(heads, cosine.data(), sine.data(), out.data());
  for (int h = 0; h < kHeads; ++h)
    for (int t = 0; t < kTokens; ++t) {
      for (int i = 0; i < kDim / 2; ++i) {
        const double angle = 0.3 * t + i, a = x[head(h, t, 2 * i)], b = x[head(h, t, 2 * i + 1)];
        EXPECT_NEAR(out[head(h, t, 2 * i)], a * std::cos(angle) - b * std::sin(angle), 3e-6);
        EXPECT_NEAR(out[head(h, t, 2 * i + 1)], a * std::sin(angle) + b * std::cos(angle), 3e-6);
      }
      EXPECT_EQ(out[head(h, t, kDim - 1)], x[head(h, t, kDim - 1)]);
    }
}

}  // namespace
}  // namespace spscope::kernels
