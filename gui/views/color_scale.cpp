#include "gui/views/color_scale.h"

#include <imgui.h>

#include <algorithm>

namespace spscope::gui {

void draw_color_scale(Ui& ui, std::string_view what, const std::string& low, const std::string& high, float room) {
  constexpr int kShades = 32;
  const float top = ImGui::GetCursorScreenPos().y;
  const float end = ImGui::GetCursorScreenPos().x + (room > 0 ? room : ui.width_left());
  const auto text = [&](std::string_view words) {
    ui.text(words, {.face = Face::kSmall, .ink = Token::kMuted, .max_width = ui.text_width(words, Face::kSmall) + 2});
    ui.same_line(8);
  };
  text(what);
  text(low);
  const float left = ImGui::GetCursorScreenPos().x;
  const float width = std::clamp(end - left - ui.text_width(high, Face::kSmall) - ui.px(12), ui.px(24), ui.px(160));
  for (int i = 0; i < kShades; ++i)
    ui.fill({left + width * static_cast<float>(i) / kShades, top + ui.px(2),
             left + width * static_cast<float>(i + 1) / kShades, top + ui.px(13)},
            Ui::color(density_color(i / (kShades - 1.0))));
  ImGui::Dummy({width, ui.px(15)});
  ui.same_line(8);
  ui.text(high, {.face = Face::kSmall, .ink = Token::kMuted, .max_width = ui.text_width(high, Face::kSmall) + 2});
}

}  // namespace spscope::gui
