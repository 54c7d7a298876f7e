// Controls: buttons, fields and choices, made of areas and texts (ui.cpp).
#include <fmt/format.h>
#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "gui/imgui_compat.h"
#include "gui/ui/ui.h"

namespace spscope::gui {
namespace {

Rect area(float width, float height) {
  const ImVec2 from = ImGui::GetCursorScreenPos();
  return {from.x, from.y, from.x + width, from.y + height};
}
void take(const Rect& rect) { ImGui::Dummy({rect.width(), rect.height()}); }

struct Look {
  Token back, ink;
  bool filled;
};
Look look_of(const ButtonStyle& style, const Hit& hit) {
  if (!style.disabled_why.empty()) return {Token::kSurface, Token::kMuted, false};
  if (style.primary) return {Token::kAccent, Token::kOnAccent, true};
  if (style.selected) return {Token::kSelected, Token::kInk, true};
  if (hit.held) return {Token::kPressed, Token::kInk, true};
  if (hit.hovered) return {Token::kHover, Token::kInk, true};
  return {style.quiet ? Token::kSurface : Token::kRaised, Token::kInk, !style.quiet};
}

}  // namespace

bool Ui::button(std::string_view name, std::string_view label, const ButtonStyle& style) {
  const float padding = px(style.quiet ? 8 : 12),
              height = style.left && style.quiet ? theme_.target() : theme_.control();
  const float most = std::max(width_left(), px(40));
  const float width = style.width > 0 ? style.width : std::min(text_width(shown(label)) + 2 * padding + 1, most);
  const Rect rect = area(width, height);
  const std::string_view tip = style.disabled_why.empty() ? style.tooltip : style.disabled_why;
  const Hit hit = target(name, rect,
                         {.kind = "button",
                          .text = label,
                          .tooltip = tip,
                          .selected = style.selected,
                          .disabled = !style.disabled_why.empty()});
  const Look look = look_of(style, hit);
  if (look.filled) fill(rect, color(look.back), px(5));
  if (!style.quiet && (!style.primary || !style.disabled_why.empty())) outline(rect, color(Token::kEdge, 0.7F), px(5));
  const float inner = width - 2 * padding, wide = std::min(text_width(shown(label)), inner);
  const float x = rect.left + (style.left ? padding : std::max(padding, (width - wide) / 2));
  text_at(x, rect.top + (height - fonts_.size(Face::kBody)) / 2 - px(1), label,
          {.ink = look.ink, .max_width = inner + 1},
          look.filled ? std::optional(theme_.color(look.back)) : std::nullopt);
  take(rect);
  return hit.clicked;
}

bool Ui::link(std::string_view name, std::string_view label, const TextStyle& style) {
  const float most = style.max_width > 0 ? style.max_width : std::max(width_left(), px(40));
  const float wide = std::min(text_width(shown(label), style.face), most);
  const Rect rect = area(std::max(wide, px(20)), std::max(line_height(style.face), px(20)));
  const Hit hit = target(name, rect, {.kind = "link", .text = label, .tooltip = style.tooltip});
  TextStyle drawn = style;
  drawn.max_width = most + 1;
  const Rect words = text_at(rect.left, rect.top + px(2), label, drawn);
  if (hit.hovered) fill({words.left, words.bottom + px(1), words.right, words.bottom + px(2)}, color(style.ink));
  if (hit.hovered) ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
  take(rect);
  return hit.clicked;
}

bool Ui::checkbox(std::string_view name, std::string_view label, bool& on, std::string_view tip) {
  const float side = px(16), gap = px(8), height = theme_.control();
  const Rect rect =
      area(std::min(side + gap + text_width(shown(label)) + px(4), std::max(width_left(), px(40))), height);
  const Hit hit = target(
      name, rect, {.kind = "checkbox", .text = label, .tooltip = tip, .value = on ? "on" : "off", .selected = on});
  if (hit.clicked) on = !on;
  const float top = rect.top + (height - side) / 2;
  const Rect box{rect.left, top, rect.left + side, top + side};
  if (on) {
    fill(box, color(Token::kAccent), px(3));
    const float u = side / 16;
    const ImVec2 tick[] = {
        {box.left + 4 * u, top + 8 * u}, {box.left + 7 * u, top + 11 * u}, {box.left + 12 * u, top + 5 * u}};
    draw_list().AddPolyline(tick, 3, color(Token::kOnAccent), 0, px(2));
  } else {
    outline(box, color(hit.hovered ? Token::kAccent : Token::kEdge), px(3), px(1.5F));
  }
  text_at(box.right + gap, rect.top + (height - fonts_.size(Face::kBody)) / 2 - px(1), label,
          {.max_width = rect.right - box.right - gap + 1});
  take(rect);
  return hit.clicked;
}

bool Ui::choice(std::string_view name, std::span<const std::string> options, int& index, float width,
                std::string_view tip) {
  const bool known = index >= 0 && index < static_cast<int>(options.size());
  const std::string label = known ? options[static_cast<std::size_t>(index)] : "–";
  if (width <= 0) {
    for (const std::string& option : options) width = std::max(width, text_width(shown(option)));
    width = std::min(width + px(38), px(260));
  }
  const float height = theme_.control(), padding = px(10);
  const Rect rect = area(width, height);
  const Hit hit = target(name, rect, {.kind = "choice", .text = label, .tooltip = tip, .value = label});
  fill(rect, color(hit.hovered ? Token::kHover : Token::kRaised), px(5));
  outline(rect, color(Token::kEdge, 0.7F), px(5));
  const Rgb behind = theme_.color(hit.hovered ? Token::kHover : Token::kRaised);
  text_at(rect.left + padding, rect.top + (height - fonts_.size(Face::kBody)) / 2 - px(1), label,
          {.max_width = width - padding - px(22)}, behind);
  const float x = rect.right - px(14), y = rect.top + height / 2;
  draw_list().AddTriangleFilled({x - px(4), y - px(2)}, {x + px(4), y - px(2)}, {x, y + px(3)}, color(Token::kMuted));
  take(rect);
  if (hit.clicked) open_popup(name);
  bool changed = false;
  popup(name, [&] {
    bool open = true;
    for (int i = 0; i < static_cast<int>(options.size()); ++i) {
      const std::string& option = options[static_cast<std::size_t>(i)];
      if (!button(fmt::format("{}", option), option,
                  {.quiet = true, .selected = i == index, .width = std::max(width - px(24), px(80)), .left = true}))
        continue;
      changed = i != index;
      index = i;
      open = false;
    }
    return open;
  });
  return changed;
}

bool Ui::segments(std::string_view name, std::span<const std::string> options, int& index) {
  const Scope inside = scope(name);
  bool changed = false;
  for (int i = 0; i < static_cast<int>(options.size()); ++i) {
    if (i > 0) same_line(4);
    const std::string& option = options[static_cast<std::size_t>(i)];
    if (!button(option, option, {.quiet = true, .selected = i == index}) || i == index) continue;
    index = i;
    changed = true;
  }
  return changed;
}

// Tab in a field that completes its text.
static int completed(ImGuiInputTextCallbackData* data) {
  const auto& style = *static_cast<const FieldStyle*>(data->UserData);
  const std::string text = style.complete(std::string(data->Buf, static_cast<std::size_t>(data->BufTextLen)));
  data->DeleteChars(0, data->BufTextLen);
  data->InsertChars(0, text.data(), text.data() + text.size());
  return 0;
}

bool Ui::field(std::string_view name, std::string& value, const FieldStyle& style) {
  const float width = style.width > 0 ? style.width : width_left();
  const float height =
      style.lines > 1 ? px(8) + static_cast<float>(style.lines) * line_height(Face::kMono) : theme_.control();
  const Rect rect = area(width, height);
  ImGui::PushID(path_.c_str(), path_.c_str() + path_.size());
  ImGui::PushID(reinterpret_cast<const void*>(std::hash<std::string_view>()(name)));
  push_font(fonts_.font(style.mono ? Face::kMono : Face::kBody));
  ImGui::PushStyleColor(ImGuiCol_FrameBg, color(Token::kRaised));
  ImGui::PushStyleColor(ImGuiCol_Text, color(Token::kInk));
  ImGui::PushStyleColor(ImGuiCol_TextSelectedBg, color(Token::kAccent, 0.35F));
  ImGui::PushStyleColor(ImGuiCol_TextDisabled, color(Token::kMuted));
  ImGui::PushStyleVar(ImGuiStyleVar_FrameRounding, px(5));
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {px(8), (theme_.control() - ImGui::GetFontSize()) / 2});
  if (style.focus) ImGui::SetKeyboardFocusHere();
  bool changed = false;
  if (style.lines > 1) {
    changed = ImGui::InputTextMultiline("##field", &value, {width, height}, ImGuiInputTextFlags_None);
  } else {
    ImGui::SetNextItemWidth(width);
    const bool completes = static_cast<bool>(style.complete);
    changed = ImGui::InputTextWithHint("##field", std::string(style.hint).c_str(), &value,
                                       completes ? ImGuiInputTextFlags_CallbackCompletion : ImGuiInputTextFlags_None,
                                       completes ? completed : nullptr, const_cast<FieldStyle*>(&style));
  }
  const bool active = ImGui::IsItemActive(), hovered = ImGui::IsItemHovered();
  ImGui::PopStyleVar(2);
  ImGui::PopStyleColor(4);
  ImGui::PopFont();
  ImGui::PopID();
  ImGui::PopID();
  if (style.lines > 1 && value.empty() && !active)
    text_at(rect.left + px(8), rect.top + px(8), style.hint,
            {.face = style.mono ? Face::kMono : Face::kBody, .ink = Token::kMuted, .max_width = width - px(16)},
            theme_.color(Token::kRaised));
  const Token edge = !style.problem.empty() ? Token::kWarn : active ? Token::kAccent : Token::kEdge;
  outline(rect, color(edge, active || !style.problem.empty() ? 1 : 0.7F), px(5), active ? px(2) : 1);
  UiItem item;
  item.text = value;
  item.value = value;
  item.target = true;
  item.focused = active;
  item.hovered = hovered;
  record(name, "field", rect, std::move(item));
  if (!style.problem.empty())
    text(style.problem, {.face = Face::kSmall, .ink = Token::kWarn, .max_width = width, .wrap = true});
  return changed;
}

bool Ui::slider(std::string_view name, int& value, int least, int most, float width) {
  const float height = theme_.control();
  const Rect rect = area(width, height);
  const Hit hit = target(name, rect, {.kind = "slider", .value = fmt::format("{}", value)});
  const float from = rect.left + px(8), to = rect.right - px(8), middle = rect.top + height / 2;
  const int before = value;
  if (hit.held && most > least) {
    const float part = std::clamp((ImGui::GetIO().MousePos.x - from) / (to - from), 0.0F, 1.0F);
    value = least + static_cast<int>(std::lround(part * static_cast<float>(most - least)));
  }
  if (hit.hovered && ImGui::GetIO().MouseWheel != 0)
    value = std::clamp(value + (ImGui::GetIO().MouseWheel > 0 ? 1 : -1), least, most);
  const float part = most > least ? static_cast<float>(value - least) / static_cast<float>(most - least) : 0;
  const float x = from + part * (to - from);
  fill({from, middle - px(2), to, middle + px(2)}, color(Token::kRule), px(2));
  fill({from, middle - px(2), x, middle + px(2)}, color(Token::kAccent), px(2));
  draw_list().AddCircleFilled({x, middle}, px(hit.hovered ? 8.F : 7.F), color(Token::kAccent));
  take(rect);
  return value != before;
}

bool Ui::splitter(std::string_view name, bool vertical, float& size, float least, float most, bool after) {
  const float thick = px(6);
  const Rect rect = vertical ? area(thick, height_left()) : area(width_left(), thick);
  const Hit hit = target(name, rect, {.kind = "splitter", .small = true, .ring = false});
  if (hit.hovered || hit.held) {
    ImGui::SetMouseCursor(vertical ? ImGuiMouseCursor_ResizeEW : ImGuiMouseCursor_ResizeNS);
    const float middle = vertical ? (rect.left + rect.right) / 2 : (rect.top + rect.bottom) / 2;
    fill(vertical ? Rect{middle - px(1), rect.top, middle + px(1), rect.bottom}
                  : Rect{rect.left, middle - px(1), rect.right, middle + px(1)},
         color(Token::kAccent));
  }
  const float before = size, moved = vertical ? hit.drag_x : hit.drag_y;
  size = std::clamp(size + (after ? -moved : moved), least, std::max(least, most));
  take(rect);
  return size != before;
}

void Ui::badge(std::string_view words, Token ink, Token back, bool dashed, std::string_view tip) {
  const float padding = px(9), height = px(22);
  const float most = std::max(width_left(), px(40));
  const Rect rect = area(std::min(text_width(shown(words), Face::kSmall) + 2 * padding, most), height);
  fill(rect, color(back), height / 2);
  if (dashed) {
    for (float x = rect.left + height / 2; x < rect.right - height / 2; x += px(7))
      for (const float y : {rect.top, rect.bottom - px(1)})
        fill({x, y, std::min(x + px(4), rect.right - height / 2), y + px(1)}, color(ink));
  } else {
    outline(rect, color(ink, 0.8F), height / 2);
  }
  text_at(rect.left + padding, rect.top + (height - fonts_.size(Face::kSmall)) / 2 - px(1), words,
          {.face = Face::kSmall, .ink = ink, .max_width = rect.width() - 2 * padding + 1, .tooltip = tip},
          theme_.color(back));
  take(rect);
}

bool Ui::banner(std::string_view name, BannerTone tone, std::string_view text, std::string_view action) {
  const std::string paragraph(text);
  return banner(name, tone, {&paragraph, 1}, action, true);
}

bool Ui::banner(std::string_view name, BannerTone tone, std::span<const std::string> paragraphs,
                std::string_view action, bool wrapped) {
  const bool bad = tone == BannerTone::kError || tone == BannerTone::kWarning;
  const Token ink = bad ? Token::kWarn : tone == BannerTone::kDone ? Token::kMeasured : Token::kInk;
  const Token behind = bad ? Token::kWarnBack : tone == BannerTone::kDone ? Token::kMeasuredBack : Token::kRaised;
  const Token outer = std::exchange(back_, behind);
  const float width = width_left(), padding = px(12);
  const float button_width = action.empty() ? 0 : text_width(shown(action)) + px(36);
  const float inner = std::max(px(60), width - 2 * padding - button_width);
  const ImVec2 from = ImGui::GetCursorScreenPos();
  ImDrawList& list = draw_list();
  list.ChannelsSplit(2);
  list.ChannelsSetCurrent(1);
  const Scope inside = scope(name);
  ImGui::SetCursorScreenPos({from.x + padding, from.y + px(6)});
  ImGui::BeginGroup();
  for (const std::string& paragraph : paragraphs) text(paragraph, {.ink = ink, .max_width = inner, .wrap = wrapped});
  ImGui::EndGroup();
  float bottom = ImGui::GetItemRectMax().y;
  bool pressed = false;
  if (!action.empty()) {
    ImGui::SetCursorScreenPos({from.x + width - button_width, from.y + px(4)});
    pressed = button("action", action);
    bottom = std::max(bottom, ImGui::GetItemRectMax().y);
  }
  bottom += px(6);
  list.ChannelsSetCurrent(0);
  fill({from.x, from.y, from.x + width, bottom}, color(behind), px(4));
  fill({from.x, from.y, from.x + px(4), bottom}, color(bad ? Token::kWarn : Token::kAccent), px(2));
  list.ChannelsMerge();
  back_ = outer;
  ImGui::SetCursorScreenPos(from);
  ImGui::Dummy({width, bottom - from.y});
  space(4);
  return pressed;
}

bool Ui::progress(std::string_view name, std::optional<double> fraction, std::string_view words, bool can_cancel) {
  const Scope inside = scope(name);
  const float width = std::min(width_left(), px(420));
  text(fraction ? fmt::format("{}: {:.0f} %", words, std::floor(*fraction * 100)) : std::string(words),
       {.ink = Token::kMuted});
  const Rect bar = area(width, px(6));
  fill(bar, color(Token::kRule), px(3));
  const float part = static_cast<float>(std::clamp(fraction.value_or(0.33), 0.0, 1.0));
  fill({bar.left, bar.top, bar.left + part * width, bar.bottom}, color(Token::kAccent, fraction ? 1 : 0.5F), px(3));
  take(bar);
  return can_cancel && button("cancel", "Cancel");
}

bool Ui::empty_state(std::string_view name, std::string_view why, std::string_view action) {
  const Scope inside = scope(name);
  const float left = std::max(px(16), (width_left() - px(520)) / 2);
  ImGui::Dummy({0, std::max(px(12), height_left() * 0.22F)});
  ImGui::Indent(left);
  const float width = std::min(width_left() - px(8), px(520));
  text(why, {.ink = Token::kMuted, .max_width = width, .wrap = true});
  space(6);
  const bool pressed = !action.empty() && button("action", action, {.primary = true});
  ImGui::Unindent(left);
  return pressed;
}

}  // namespace spscope::gui
