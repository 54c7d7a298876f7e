// Contrast of what is drawn on what, by WCAG 2 (1.4.3: text 4.5:1; 1.4.11: marks 3:1), with a formula of our own.
#include "gui/ui/theme.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

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

void expect_contrast(Token ink, Token back, double least) {
  for (const Appearance a : {Appearance::kLight, Appearance::kDark})
    EXPECT_GE(ratio(token_color(ink, a), token_color(back, a)), least)
        << kTokenNames[static_cast<int>(ink)] << " on " << kTokenNames[static_cast<int>(back)]
        << (a == Appearance::kDark ? ", dark" : ", light");
}

TEST(Theme, ContrastIsThatOfTheStandard) {
  EXPECT_NEAR(contrast(0x000000, 0xffffff), 21, 1e-9);
  EXPECT_NEAR(contrast(0xffffff, 0x000000), 21, 1e-9);
  EXPECT_NEAR(contrast(0x777777, 0xffffff), 4.478, 1e-3);  // the known grey that just fails
  for (Rgb a = 0; a < 0xffffff; a += 0x0f1357)
    for (Rgb b = 0; b < 0xffffff; b += 0x2a1b3d) ASSERT_NEAR(contrast(a, b), ratio(a, b), 1e-9);
}

TEST(Theme, TextCanBeReadOnAllSurfacesItStandsOn) {
  for (const Token back : {Token::kPage, Token::kSurface, Token::kRail, Token::kRaised, Token::kHover, Token::kSelected,
                           Token::kBest, Token::kPressed})
    expect_contrast(Token::kInk, back, 4.5);
  for (const Token back :
       {Token::kPage, Token::kSurface, Token::kRail, Token::kRaised, Token::kHover, Token::kSelected, Token::kBest})
    expect_contrast(Token::kMuted, back, 4.5);
  for (const Token back : {Token::kSurface, Token::kRail, Token::kRaised, Token::kHover}) {
    expect_contrast(Token::kAccent, back, 4.5);
    expect_contrast(Token::kWarn, back, 4.5);
  }
  expect_contrast(Token::kOnAccent, Token::kAccent, 4.5);
  expect_contrast(Token::kWarn, Token::kWarnBack, 4.5);
  expect_contrast(Token::kInk, Token::kWarnBack, 4.5);
  expect_contrast(Token::kMeasured, Token::kMeasuredBack, 4.5);
  expect_contrast(Token::kModelled, Token::kModelledBack, 4.5);
  expect_contrast(Token::kOnCompute, Token::kCompute, 4.5);
  expect_contrast(Token::kOnLate, Token::kLate, 4.5);
  expect_contrast(Token::kOnOther, Token::kOther, 4.5);
}

TEST(Theme, MarksStandOutFromTheSurface) {
  for (const Token mark : {Token::kCompute, Token::kWire, Token::kEdge, Token::kAccent, Token::kRedundant})
    expect_contrast(mark, Token::kSurface, 3);
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
