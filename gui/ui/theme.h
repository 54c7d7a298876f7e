// Theme: the colours and sizes of the window. Colours of figures are those of the report's style sheet
// (backend/report/style_tokens.def), so that a strategy's compute is the same blue on the page and in the window.
#pragma once

#include <array>
#include <cstdint>

namespace spscope::gui {

// 0xRRGGBB
using Rgb = std::uint32_t;

enum class Token {
#define TOKEN(name, css, light, dark) k##name,
#include "backend/report/style_tokens.def"
#include "gui/ui/theme.def"
#undef TOKEN
};
inline constexpr int kNumTokens = static_cast<int>(Token::kOnDevice) + 1;

enum class Appearance { kLight, kDark };
Rgb token_color(Token token, Appearance appearance);

// `share` of the first and the rest of the second.
Rgb mixed(Rgb over, Rgb under, float share);

// Black or white, whichever stands out from it: at least 4.5:1.
Rgb ink_on(Rgb back);

// Of rank_colors.h.
Rgb rank_color(int rank);
// Density 0 to 1 in cividis (Nunez et al. 2018), from dark blue to yellow.
Rgb density_color(double density);

struct Theme {
  Appearance appearance = Appearance::kDark;
  float scale = 1;  // of the monitor times that of the user

  Rgb color(Token token) const { return token_color(token, appearance); }
  float px(float design) const { return design * scale; }
  // The least height and width of what can be clicked.
  float target() const { return px(24); }
  // The height of buttons, fields and choices, which stand beside each other.
  float control() const { return px(28); }
};

}  // namespace spscope::gui
