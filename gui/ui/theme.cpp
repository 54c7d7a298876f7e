#include "gui/ui/theme.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "backend/report/cividis.h"
#include "backend/report/rank_colors.h"

namespace spscope::gui {
namespace {

struct TokenRow {
  Rgb light, dark;
};
constexpr TokenRow kTokenRows[] = {
#define TOKEN(name, css, light, dark) {light, dark},
#include "backend/report/style_tokens.def"
#include "gui/ui/theme.def"
#undef TOKEN
};
static_assert(std::size(kTokenRows) == kNumTokens);

}  // namespace

Rgb token_color(Token token, Appearance appearance) {
  const TokenRow& row = kTokenRows[static_cast<int>(token)];
  return appearance == Appearance::kLight ? row.light : row.dark;
}

Rgb mixed(Rgb over, Rgb under, float share) {
  Rgb out = 0;
  for (const int shift : {16, 8, 0}) {
    const float a = static_cast<float>(over >> shift & 0xff), b = static_cast<float>(under >> shift & 0xff);
    out |= static_cast<Rgb>(std::lround(b + (a - b) * share)) << shift;
  }
  return out;
}

Rgb ink_on(Rgb back) {
  // Relative luminance and contrast of WCAG 2.
  constexpr std::array<double, 3> kShares = {0.2126, 0.7152, 0.0722};
  double luminance = 0.05;
  for (int i = 0; i < 3; ++i) {
    const double c = (back >> (16 - 8 * i) & 0xff) / 255.0;
    luminance += kShares[static_cast<std::size_t>(i)] * (c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4));
  }
  return luminance * luminance > 1.05 * 0.05 ? 0x000000 : 0xffffff;
}

Rgb rank_color(int rank) { return kRankColors[rank_color_index(rank)]; }

Rgb density_color(double density) {
  const double at = std::clamp(density, 0.0, 1.0) * (kCividis.size() - 1);
  const auto low = std::min(static_cast<std::size_t>(at), kCividis.size() - 2);
  const double part = at - static_cast<double>(low);
  Rgb color = 0;
  for (const int shift : {16, 8, 0}) {
    const double from = kCividis[low] >> shift & 0xff, to = kCividis[low + 1] >> shift & 0xff;
    color |= static_cast<Rgb>(std::lround(from + part * (to - from))) << shift;
  }
  return color;
}

}  // namespace spscope::gui
