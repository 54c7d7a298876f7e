// Contrast of what is drawn on what, by WCAG 2 (1.4.3: text 4.5:1; 1.4.11: marks 3:1), with a formula of our own.
#include "gui/ui/theme.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <vector>

namespace spscope::gui {
namespace {

double luminance(Rgb color) {
  double sum = 0;
  for (const auto& [shift, weight] : {std::pair{16, 0.2126}, {8, 0.7152}, {0, 0.0722}}) {
    const double c = ((color >> shift) & 255) / 255.0;
    sum += weight * (c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4));
  }
  return sum;
}
double ratio(Rgb a, Rgb b) {
  const double x = luminance(a), y = luminance(b);
  return x > y ? (x + 0.05) / (y + 0.05) : (y + 0.05) / (x + 0.05);
}

const char* kTokenNames[] = {
#define TOKEN(name, css, light, dark) #name,
#include "backend/report/style_tokens.def"
#include "gui/ui/theme.def"
#undef TOKEN
};

const std::vector<Token> kWork = {Token::kKernel, Token::kCopy,     Token::kMemset,    Token::kSynchronize,
                                  Token::kApi,    Token::kOverhead, Token::kAnnotation};

TEST(Theme, NumbersCanBeReadOnEachDensity) {
  for (int i = 0; i <= 100; ++i) EXPECT_GE(ratio(ink_on(density_color(i / 100.0)), density_color(i / 100.0)), 4.5) << i;
}

TEST(Theme, TextCanBeReadAndMarksStandOutOnAllThatTheyStandOn) {
  using enum Token;
  struct Row {
    std::vector<Token> inks, backs;
    double least;
  };
  const Row rows[] = {{{kInk, kMuted}, {kPage, kSurface, kRail, kRaised, kHover, kSelected, kBest}, 4.5},
                      {{kInk}, {kPressed, kWarnBack}, 4.5},
                      {{kAccent, kWarn}, {kSurface, kRail, kRaised, kHover}, 4.5},
                      {{kWarn}, {kWarnBack}, 4.5},
                      {{kOnAccent}, {kAccent}, 4.5},
                      {{kMeasured}, {kMeasuredBack}, 4.5},
                      {{kModelled}, {kModelledBack}, 4.5},
                      {{kOnCompute}, {kCompute}, 4.5},
                      {{kOnLate}, {kLate}, 4.5},
                      {{kOnOther}, {kOther}, 4.5},
                      {{kOnDevice}, kWork, 4.5},
                      {{kCompute, kWire, kEdge, kAccent, kRedundant}, {kSurface}, 3},
                      {kWork, {kSurface}, 3}};
  for (const Row& row : rows)
    for (const Token ink : row.inks)
      for (const Token back : row.backs)
        for (const Appearance a : {Appearance::kLight, Appearance::kDark})
          EXPECT_GE(ratio(token_color(ink, a), token_color(back, a)), row.least)
              << kTokenNames[static_cast<int>(ink)] << " on " << kTokenNames[static_cast<int>(back)]
              << (a == Appearance::kDark ? ", dark" : ", light");
}

// Differences in Oklab (Ottosson 2020) as people without red or green cones see colours (Machado et al. 2009).
TEST(Theme, WhatDevicesDoIsToldApartWithoutRedOrGreenCones) {
  using Matrix = std::array<std::array<double, 3>, 3>;
  constexpr Matrix kAll = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  constexpr Matrix kNoRed = {
      {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}};
  constexpr Matrix kNoGreen = {
      {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}};
  const auto times = [](const Matrix& m, const std::array<double, 3>& v) {
    std::array<double, 3> out{};
    for (std::size_t i = 0; i < 3; ++i) out[i] = m[i][0] * v[0] + m[i][1] * v[1] + m[i][2] * v[2];
    return out;
  };
  const auto seen = [&](Rgb color, const Matrix& cones) {
    std::array<double, 3> v{};
    for (std::size_t i = 0; i < 3; ++i) {
      const double c = ((color >> (16 - 8 * i)) & 255) / 255.0;
      v[i] = c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
    }
    v = times(cones, v);
    for (double& c : v) c = std::clamp(c, 0.0, 1.0);
    constexpr Matrix kLms = {{{0.4122214708, 0.5363325363, 0.0514459929},
                              {0.2119034982, 0.6806995451, 0.1073969566},
                              {0.0883024619, 0.2817188376, 0.6299787005}}};
    constexpr Matrix kLab = {{{0.2104542553, 0.7936177850, -0.0040720468},
                              {1.9779984951, -2.4285922050, 0.4505937099},
                              {0.0259040371, 0.7827717662, -0.8086757660}}};
    v = times(kLms, v);
    for (double& c : v) c = std::cbrt(c);
    return times(kLab, v);
  };
  for (const Appearance a : {Appearance::kLight, Appearance::kDark})
    for (const Matrix* cones : {&kAll, &kNoRed, &kNoGreen})
      for (const Token one : kWork)
        for (const Token other : kWork) {
          if (one == other) continue;
          const auto x = seen(token_color(one, a), *cones), y = seen(token_color(other, a), *cones);
          EXPECT_GT(std::hypot(x[0] - y[0], x[1] - y[1], x[2] - y[2]), 0.1)
              << kTokenNames[static_cast<int>(one)] << " beside " << kTokenNames[static_cast<int>(other)]
              << (a == Appearance::kDark ? ", dark" : ", light");
        }
}

TEST(Theme, RanksHaveEightColoursAndDensityGrowsLighter) {
  std::set<Rgb> colors;
  // The ranks of a node, and those of a ring of USP whose heads go over 2, 4, 8 or 64 ranks.
  for (const int apart : {1, 2, 4, 8, 64}) {
    colors.clear();
    for (int n = 0; n < 8; ++n) colors.insert(rank_color(n * apart));
    EXPECT_EQ(colors.size(), 8u) << apart;
  }
  for (int rank = 0; rank < 4096; ++rank) EXPECT_NE(rank_color(rank), rank_color(rank + 1)) << rank;
  double before = -1;
  for (int i = 0; i <= 100; ++i) {
    const double now = luminance(density_color(i / 100.0));
    EXPECT_GE(now, before - 1e-3) << i;
    before = now;
  }
  for (const Appearance a : {Appearance::kLight, Appearance::kDark})
    EXPECT_NE(token_color(Token::kEmpty, a), density_color(0));
}

}  // namespace
}  // namespace spscope::gui
