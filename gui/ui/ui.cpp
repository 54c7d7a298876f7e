// Panes, texts and areas; controls.cpp has the controls that are made of them.
#include "gui/ui/ui.h"

#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "backend/base/printable.h"
#include "backend/base/utf8.h"
#include "gui/imgui_compat.h"
#include "gui/platform/renderer.h"

namespace spscope::gui {
namespace {

// Pixels from which on it is worth it to change how they are drawn.
constexpr float kLargeArea = 16'384;

ImVec2 point(float x, float y) { return {x, y}; }
ImVec2 top_left(const Rect& r) { return {r.left, r.top}; }
ImVec2 bottom_right(const Rect& r) { return {r.right, r.bottom}; }

}  // namespace

std::string shown(std::string_view text) { return printable_line(text); }

std::string elided(const Ui& ui, std::string_view text, float width, Face face) {
  if (ui.text_width(text, face) <= width) return std::string(text);
  std::size_t fits = 0, most = text.size();
  while (fits < most) {  // the longest prefix that fits with the ellipsis
    const std::size_t middle = (fits + most + 1) / 2;
    const std::string tried = std::string(first_characters(text, middle)) + "…";
    if (ui.text_width(tried, face) <= width) {
      fits = middle;
    } else {
      most = middle - 1;
    }
  }
  const std::string cut = std::string(first_characters(text, fits)) + "…";
  return ui.text_width(cut, face) <= width ? cut : "";
}

unsigned Ui::color(Rgb rgb, float opacity) {
  return IM_COL32(rgb >> 16 & 0xff, rgb >> 8 & 0xff, rgb & 0xff, static_cast<int>(std::lround(opacity * 255)));
}

Ui::Scope::Scope(Ui& ui, std::string_view name) : ui_(ui), length_(ui.path_.size()) {
  if (!ui.path_.empty()) ui.path_ += '/';
  ui.path_ += name;
}
Ui::Scope::~Scope() { ui_.path_.resize(length_); }

ImDrawList& Ui::draw_list() const { return *ImGui::GetWindowDrawList(); }
void Ui::fill(const Rect& r, unsigned color, float rounding) const {
  const Rect visible = common_part(r, clip());
  const bool opaque = rounding <= 0 && color >> IM_COL32_A_SHIFT == 0xff && visible.width() > 0 &&
                      visible.width() * visible.height() >= kLargeArea;
  if (opaque) return fill_opaque(draw_list(), r.left, r.top, r.right, r.bottom, color);
  draw_list().AddRectFilled(top_left(r), bottom_right(r), color, rounding);
}
void Ui::outline(const Rect& r, unsigned color, float rounding, float thickness) const {
  draw_list().AddRect(top_left(r), bottom_right(r), color, rounding, 0, thickness);
}
void Ui::hatch(const Rect& r, unsigned color) const {
  ImDrawList& list = draw_list();
  list.PushClipRect(top_left(r), bottom_right(r), true);
  const float step = px(6), height = r.height();
  for (float x = r.left - height; x < r.right; x += step)
    list.AddLine(point(x, r.bottom), point(x + height, r.top), color, std::max(1.0F, px(1.2F)));
  list.PopClipRect();
}
void Ui::dim(const Rect& rect) {
  fill(rect, color(back_, 0.55F));
  mark("dimmed", rect);
}
Rect Ui::clip() const {
  const ImDrawList& list = draw_list();
  const ImVec2 low = list.GetClipRectMin(), high = list.GetClipRectMax();
  return {low.x, low.y, high.x, high.y};
}

float Ui::width_left() const { return ImGui::GetContentRegionAvail().x; }
float Ui::height_left() const { return ImGui::GetContentRegionAvail().y; }
void Ui::same_line(float gap) { ImGui::SameLine(0, px(gap)); }
void Ui::space(float design) { ImGui::Dummy(point(0, px(design))); }
void Ui::rule() {
  const ImVec2 from = ImGui::GetCursorScreenPos();
  fill({from.x, from.y, from.x + width_left(), from.y + std::max(1.0F, px(1))}, color(Token::kRule));
  ImGui::Dummy(point(0, px(1)));
}

void Ui::pane(std::string_view name, const PaneStyle& style, const std::function<void()>& content) {
  const Scope inside = scope(name);
  const Token outer = std::exchange(back_, style.back);
  if (style.back != outer) {
    const ImVec2 from = ImGui::GetCursorScreenPos(), left = ImGui::GetContentRegionAvail();
    const float width = style.width > 0 ? style.width : std::max(4.0F, left.x + style.width);
    const float height = style.height > 0 ? style.height : std::max(4.0F, left.y + style.height);
    fill({from.x, from.y, from.x + std::floor(width), from.y + std::floor(height)}, color(style.back));
  }
  ImGui::PushStyleColor(ImGuiCol_ChildBg, 0);
  ImGui::PushStyleColor(ImGuiCol_Border, color(Token::kRule));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, style.padded ? point(px(14), px(12)) : point(0, 0));
  ImGuiWindowFlags flags = style.scroll_x ? ImGuiWindowFlags_HorizontalScrollbar : ImGuiWindowFlags_None;
  if (style.fixed) flags |= ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse;
  ImGui::PushID(path_.c_str(), path_.c_str() + path_.size());
  const bool visible = begin_child("pane", point(style.width, style.height), style.border, style.padded, flags);
  ImGui::PopStyleVar();
  const bool outer_x = scrolls_x_, outer_y = scrolls_y_;
  scrolls_x_ |= ImGui::GetScrollMaxX() > 0;
  scrolls_y_ |= ImGui::GetScrollMaxY() > 0;
  if (visible) content();
  end_content();
  scrolls_x_ = outer_x;
  scrolls_y_ = outer_y;
  ImGui::EndChild();
  ImGui::PopID();
  ImGui::PopStyleColor(2);
  back_ = outer;
}

float Ui::text_width(std::string_view text, Face face) const {
  if (text.empty()) return 0;
  return fonts_.font(face)->CalcTextSizeA(fonts_.size(face), 1e9F, 0, text.data(), text.data() + text.size()).x;
}
float Ui::line_height(Face face) const { return std::ceil(fonts_.size(face) * 1.3F); }

void Ui::record(std::string_view name, std::string_view kind, const Rect& rect, UiItem item) {
  if (dump_ == nullptr) return;
  item.path = name.empty() ? path_ : path_ + "/" + std::string(name);
  item.kind = kind;
  item.rect = rect;
  item.clip = clip();
  item.scrolls_x = scrolls_x_ || ImGui::GetScrollMaxX() > 0;
  item.scrolls_y = scrolls_y_ || ImGui::GetScrollMaxY() > 0;
  item.layer = layer_;
  if (item.back == 0 && item.ink == 0) item.back = theme_.color(back_);
  dump_->add(std::move(item));
}

Rect Ui::text_at(float x, float y, std::string_view raw, const TextStyle& style, std::optional<Rgb> on,
                 std::optional<Rgb> ink) {
  const std::string whole = shown(raw);
  fonts_.need(whole);
  const float wide = text_width(whole, style.face), high = fonts_.size(style.face);
  const bool cut = wide > style.max_width + 0.5F;
  const std::string drawn = cut ? elided(*this, whole, style.max_width, style.face) : whole;
  const float drawn_width = cut ? text_width(drawn, style.face) : wide;
  const float left = std::floor(style.right ? x + style.max_width - drawn_width : x), top = std::floor(y);
  const Rgb foreground = ink.value_or(theme_.color(style.ink));
  draw_list().AddText(fonts_.font(style.face), high, point(left, top), color(foreground), drawn.data(),
                      drawn.data() + drawn.size());
  const Rect rect{left, top, left + drawn_width, top + high};
  UiItem item;
  item.text = whole;
  item.text_width = drawn_width;
  item.elided = cut;
  item.tooltip = cut ? whole : std::string(style.tooltip);
  item.ink = foreground;
  item.back = on.value_or(theme_.color(back_));
  item.large = style.face == Face::kTitle;
  record({}, "text", rect, std::move(item));
  const bool over = (cut || !style.tooltip.empty()) && ImGui::IsWindowHovered() &&
                    ImGui::IsMouseHoveringRect(top_left(rect), bottom_right(rect));
  if (over) tooltip(cut ? std::string_view(whole) : style.tooltip);
  return rect;
}

void Ui::text(std::string_view raw, const TextStyle& style) {
  const ImVec2 from = ImGui::GetCursorScreenPos();
  TextStyle limited = style;
  if (limited.max_width <= 0) limited.max_width = width_left();
  if (!style.wrap) {
    const float high = style.beside ? theme_.control() : line_height(style.face);
    const float top = style.beside ? (high - fonts_.size(style.face)) / 2 - px(1) : px(2);
    const Rect drawn = text_at(from.x, from.y + top, raw, limited);
    const float width = style.right ? limited.max_width : drawn.width();
    ImGui::Dummy(point(width, high));
    return;
  }
  const std::string whole = shown(raw);
  fonts_.need(whole);
  ImFont* font = fonts_.font(style.face);
  const float size = fonts_.size(style.face);
  float y = from.y + px(2), widest = 0;
  const char* begin = whole.data();
  const char* const end = begin + whole.size();
  while (begin < end) {
    const char* stop = line_end(*font, size, begin, end, limited.max_width);
    if (stop == begin) ++stop;  // not even a character fits
    const Rect line = text_at(from.x, y, std::string_view(begin, stop),
                              {.face = style.face, .ink = style.ink, .max_width = limited.max_width + px(2)});
    widest = std::max(widest, line.width());
    y += line_height(style.face);
    begin = stop;
    while (begin < end && *begin == ' ') ++begin;
  }
  ImGui::Dummy(point(widest, std::max(line_height(style.face), y - from.y - px(2))));
}

void Ui::heading(std::string_view text) {
  // Nearer to what it is of than to what is above.
  if (ImGui::GetCursorPosY() > px(16)) space(8);
  this->text(text, {.face = Face::kBold});
}

Hit Ui::target(std::string_view name, const Rect& rect, const TargetStyle& style) {
  Hit hit;
  if (rect.empty()) return hit;
  const ImVec2 cursor = ImGui::GetCursorScreenPos();
  ImGui::SetCursorScreenPos(top_left(rect));
  ImGui::PushID(path_.c_str(), path_.c_str() + path_.size());
  // An id of the whole name: in Dear ImGui's own labels "##" has a meaning.
  ImGui::PushID(reinterpret_cast<const void*>(std::hash<std::string_view>()(name)));
  const bool pressed =
      ImGui::InvisibleButton("target", point(rect.width(), rect.height()),
                             kReachedByKeys | ImGuiButtonFlags_MouseButtonLeft | ImGuiButtonFlags_MouseButtonRight);
  hit.hovered = ImGui::IsItemHovered(ImGuiHoveredFlags_AllowWhenDisabled);
  hit.focused = ImGui::IsItemFocused() && ImGui::GetIO().NavVisible;
  hit.held = ImGui::IsItemActive();
  if (!style.disabled) {
    hit.right_clicked = hit.hovered && ImGui::IsMouseClicked(ImGuiMouseButton_Right);
    hit.clicked = pressed && !ImGui::IsMouseReleased(ImGuiMouseButton_Right);
    hit.double_clicked = hit.hovered && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left);
    // In the frame of the press the pointer came from elsewhere.
    const ImVec2 moved = ImGui::GetIO().MouseDelta;
    hit.dragged = hit.held && !ImGui::IsItemActivated() && (moved.x != 0 || moved.y != 0);
    hit.drag_x = hit.dragged ? moved.x : 0;
    hit.drag_y = hit.dragged ? moved.y : 0;
  }
  ImGui::PopID();
  ImGui::PopID();
  restore_cursor(cursor);
  if (hit.focused && style.ring) outline(rect, color(Token::kAccent), px(4), px(2));
  UiItem item;
  item.text = std::string(style.text);
  item.value = std::string(style.value);
  item.tooltip = std::string(style.tooltip);
  item.target = !style.small;
  item.disabled = style.disabled;
  item.selected = style.selected;
  item.focused = hit.focused;
  item.hovered = hit.hovered;
  record(name, style.kind, rect, std::move(item));
  if (hit.hovered && !style.tooltip.empty() && !hit.held) tooltip(style.tooltip);
  return hit;
}

void Ui::mark(std::string_view name, const Rect& rect, std::string_view text, bool selected, std::optional<Rgb> ink) {
  if (dump_ == nullptr) return;
  UiItem item;
  item.text = std::string(text);
  item.selected = selected;
  item.ink = ink.value_or(0);
  item.back = theme_.color(back_);
  record(name, "mark", rect, std::move(item));
}

void Ui::tooltip(const std::function<void()>& content) {
  ImGui::PushStyleColor(ImGuiCol_PopupBg, color(Token::kRaised));
  ImGui::PushStyleColor(ImGuiCol_Border, color(Token::kEdge));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, point(px(10), px(8)));
  const Token outer = std::exchange(back_, Token::kRaised);
  const int below = std::exchange(layer_, 2);
  ImGui::BeginTooltip();
  content();
  ImGui::EndTooltip();
  layer_ = below;
  back_ = outer;
  ImGui::PopStyleVar();
  ImGui::PopStyleColor(2);
}

void Ui::tooltip(std::string_view words) {
  tooltip([&] {
    const float most = std::min(px(520), ImGui::GetIO().DisplaySize.x - px(40));
    text(words, {.max_width = std::min(most, text_width(shown(words)) + px(2)), .wrap = true});
  });
}

void Ui::open_popup(std::string_view name) { ImGui::OpenPopup((path_ + "/" + std::string(name)).c_str()); }

bool Ui::begin_popup(std::string_view name, bool centered, float width) {
  const std::string id = path_ + "/" + std::string(name);
  if (!ImGui::IsPopupOpen(id.c_str())) return false;
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  if (centered) ImGui::SetNextWindowPos(point(display.x / 2, display.y * 0.18F), ImGuiCond_Always, point(0.5F, 0));
  if (!centered) {
    const ImVec2 low = ImGui::GetItemRectMin(), high = ImGui::GetItemRectMax();
    const bool above = low.y > display.y - high.y, left = low.x > display.x * 0.7F;
    const float room = above ? low.y - px(8) : display.y - high.y - px(8);
    ImGui::SetNextWindowPos(point(left ? high.x : low.x, above ? low.y - px(2) : high.y + px(2)), ImGuiCond_Appearing,
                            point(left ? 1 : 0, above ? 1 : 0));
    ImGui::SetNextWindowSizeConstraints(point(0, 0), point(display.x - px(16), room));
  }
  if (width > 0)
    ImGui::SetNextWindowSizeConstraints(point(std::min(width, display.x - px(24)), 0),
                                        point(std::min(width, display.x - px(24)), display.y * 0.8F));
  ImGui::PushStyleColor(ImGuiCol_PopupBg, color(Token::kRaised));
  ImGui::PushStyleColor(ImGuiCol_Border, color(Token::kEdge));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, point(px(12), px(10)));
  ImGui::PushStyleVar(ImGuiStyleVar_PopupRounding, px(6));
  const bool open = ImGui::BeginPopup(id.c_str(), ImGuiWindowFlags_NoMove);
  ImGui::PopStyleVar(2);
  ImGui::PopStyleColor(2);
  return open;
}

bool Ui::popup(std::string_view name, const std::function<bool()>& content, bool centered, float width) {
  if (!begin_popup(name, centered, width)) return false;
  const Scope inside = scope(name);
  const Token outer = std::exchange(back_, Token::kRaised);
  const int below = std::exchange(layer_, 1);
  if (!content()) ImGui::CloseCurrentPopup();
  layer_ = below;
  back_ = outer;
  ImGui::EndPopup();
  return true;
}

}  // namespace spscope::gui
