// Token-local kernels where a whole layer shows little: equal channels, large values, an odd channel.
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

TEST_F(LayerKernels, ModulateOfEqualChannelsIsTheShift) {
  const std::vector<float> equal(x.size(), 4.0f);
  std::vector<double> statistics(2 * kTokens);
  modulate(channels, equal.data(), p.data(), r.data(), statistics.data(), out.data());
  for (int c = 0; c < kChannels; ++c) EXPECT_EQ(out[channel(c, 3)], r[static_cast<std::size_t>(c)]);
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
