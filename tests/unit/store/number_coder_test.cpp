// Coded numbers: every one comes back, noise takes its entropy, and any bytes are read without harm.
#include "backend/store/chunk/number_coder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "backend/base/rng.h"

namespace spscope {
namespace {

using Limits = std::numeric_limits<std::int64_t>;

std::int64_t any_number(Rng& rng) {
  const auto extreme = rng.below(12);
  if (extreme == 0) return Limits::max();
  if (extreme == 1) return Limits::min();
  if (extreme < 5) return 0;
  const auto x = static_cast<std::int64_t>(rng.bits() >> rng.below(64));
  return rng.below(2) == 0 ? x : -(x / 2);
}

struct Parts {
  std::vector<std::uint8_t> coded, plain;
  double bits() const { return 8 * static_cast<double>(coded.size() + plain.size()); }
};

// Number i with model i % models.
Parts encoded(const std::vector<std::int64_t>& numbers, std::size_t num_models) {
  std::vector<NumberModel> models(num_models);
  NumberEncoder encoder;
  for (std::size_t i = 0; i < numbers.size(); ++i) encoder.put(models[i % num_models], numbers[i]);
  encoder.finish();
  return {encoder.coded(), encoder.plain()};
}

// Whether the parts are exactly these numbers.
bool reads_back(const Parts& parts, const std::vector<std::int64_t>& numbers, std::size_t num_models) {
  std::vector<NumberModel> models(num_models);
  NumberDecoder decoder(parts.coded, parts.plain);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (decoder.get(models[i % num_models]) != numbers[i]) return false;
  return decoder.at_end();
}

TEST(NumberCoder, EveryNumberComesBack) {
  Rng rng(1);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(rng.below(400)));
    const auto kind = rng.below(3);
    for (std::size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = kind == 0 ? any_number(rng) : kind == 1 ? rng.below(300) - 100 : numbers[i / 2];
    const auto num_models = static_cast<std::size_t>(1 + rng.below(4));
    EXPECT_TRUE(reads_back(encoded(numbers, num_models), numbers, num_models)) << "round " << round;
  }
  for (const std::int64_t edge : {Limits::min(), Limits::min() + 1, Limits::max(), std::int64_t{-1}, std::int64_t{0}})
    EXPECT_TRUE(reads_back(encoded({edge}, 1), {edge}, 1)) << edge;
}

// Exponentially distributed numbers of mean m have log2(e m) bits of entropy each.
TEST(NumberCoder, NoiseTakesItsEntropy) {
  Rng rng(2);
  for (const double mean : {20.0, 1'000.0, 1e6}) {
    std::vector<std::int64_t> numbers(20'000);
    for (std::int64_t& x : numbers) x = static_cast<std::int64_t>(-mean * std::log1p(-rng.uniform()));
    const double bits = encoded(numbers, 1).bits() / static_cast<double>(numbers.size());
    const double entropy = std::log2(std::exp(1.0) * mean);
    EXPECT_GT(bits, entropy - 0.1) << mean;
    EXPECT_LT(bits, entropy + 0.15) << mean;
  }
}

TEST(NumberCoder, WhatNeverChangesTakesNothing) {
  EXPECT_LT(encoded(std::vector<std::int64_t>(4'096, 0), 1).bits(), 100);
  EXPECT_LT(encoded(std::vector<std::int64_t>(4'096, -3), 1).bits(), 400);
}

// A byte too few or too many is seen, whichever part it belongs to.
TEST(HostileNumberCoder, OtherLengthsAreSeen) {
  Rng rng(3);
  std::vector<std::int64_t> numbers(200);
  for (std::int64_t& x : numbers) x = rng.below(1'000'000);
  const Parts parts = encoded(numbers, 1);
  ASSERT_TRUE(reads_back(parts, numbers, 1));
  for (const bool plain : {false, true}) {
    Parts shorter = parts, longer = parts;
    (plain ? shorter.plain : shorter.coded).pop_back();
    (plain ? longer.plain : longer.coded).push_back(0);
    EXPECT_FALSE(reads_back(shorter, numbers, 1));
    EXPECT_FALSE(reads_back(longer, numbers, 1));
  }
}

TEST(HostileNumberCoder, AnyBytesAreRead) {
  Rng rng(4);
  for (int round = 0; round < 500; ++round) {
    Parts parts;
    parts.coded.resize(static_cast<std::size_t>(rng.below(40)));
    parts.plain.resize(static_cast<std::size_t>(rng.below(40)));
    for (std::uint8_t& byte : parts.coded) byte = static_cast<std::uint8_t>(rng.bits());
    for (std::uint8_t& byte : parts.plain) byte = static_cast<std::uint8_t>(rng.bits());
    NumberModel model;
    NumberDecoder decoder(parts.coded, parts.plain);
    for (int i = 0; i < 100; ++i) (void)decoder.get(model);
    (void)decoder.at_end();
  }
}

}  // namespace
}  // namespace spscope
