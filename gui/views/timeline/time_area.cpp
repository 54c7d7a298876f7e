#include "gui/views/timeline/time_area.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "backend/base/number_text.h"
#include "gui/imgui_compat.h"
#include "gui/views/timeline/facts.h"

namespace spscope::gui {
namespace {

constexpr float kTimeField = 110, kLeastFind = 100, kMostFind = 180, kGap = 8;
constexpr float kSnap = 6;  // what is measured begins and ends at edges of events so near
// Going to a time while all is shown zooms in so far: else nothing would move.
constexpr double kGoToShare = 1.0 / 16;

}  // namespace

void TimeArea::buttons(Ui& ui) {
  if (ui.button("zoom out", "−", {.tooltip = key_tip(ui, "Zoom out", Command::kZoomOut)})) axis.zoom(1.6);
  ui.same_line(4);
  if (ui.button("zoom in", "+", {.tooltip = key_tip(ui, "Zoom in", Command::kZoomIn)})) axis.zoom(1 / 1.6);
  ui.same_line(4);
  if (ui.button("all", "All", {.tooltip = key_tip(ui, "Show all", Command::kAll)})) axis.show_all();
  ui.same_line(4);
  const std::string tip =
      key_tip(ui, "Drag over the rows to select a range of time, or Ctrl and drag", Command::kSelectRange);
  if (ui.button("range", "Range", {.selected = selecting_, .tooltip = tip})) selecting_ = !selecting_;
}

bool TimeArea::begin_toolbar(const Ui& ui) {
  toolbar_top_ = ImGui::GetCursorScreenPos().y;
  tiny_ = ui.width_left() < ui.px(330) && ui.height_left() < ui.px(240);
  return ui.width_left() < ui.px(900);
}

float TimeArea::flow_to_find(Ui& ui) {
  flow(ui, kLeastFind);
  const float left = ui.width_left(), beside_time = left - ui.px(kTimeField + kGap);
  return std::min(ui.px(kMostFind), beside_time >= ui.px(kLeastFind) ? beside_time : left);
}

void TimeArea::time_field(Ui& ui) {
  const bool focus = std::exchange(focus_time_, false);
  if (focus) time_shown_ = true;
  if (tiny_ && !time_shown_ && time_text_.empty()) return;
  const bool one_line = ImGui::GetItemRectMin().y < toolbar_top_ + ui.px(kGap);
  flow(ui, kTimeField);
  const bool breaks_it = one_line && ImGui::GetCursorScreenPos().y > toolbar_top_ + ui.px(kGap);
  if (breaks_it && !time_shown_ && time_text_.empty()) return;
  const std::string hint = key_tip(ui, "Time", Command::kGoToTime);
  if (ui.field("go to time", time_text_, {.width = ui.px(kTimeField), .hint = hint, .mono = true, .focus = focus}))
    time_problem_.clear();
  if (ImGui::IsItemDeactivated()) time_shown_ = false;
  if (ImGui::IsItemDeactivated() && key_pressed(Key::kEnter)) go_to_time();
  if (time_problem_.empty()) return;
  flow(ui, 200);
  ui.text(time_problem_, {.face = Face::kSmall, .ink = Token::kWarn, .max_width = ui.width_left(), .beside = true});
}

void TimeArea::go_to_time() {
  const auto ns = parse_time(time_text_);
  if (!ns) {
    time_problem_ = fmt::format("\"{}\" is no time: write 1.2ms, 35us or 2s", time_text_);
  } else if (*ns < axis.first_ns() || *ns > axis.extent_ns()) {
    time_problem_ = fmt::format("{} is outside: the timeline is from {} to {}", time_text(*ns),
                                duration(axis.first_ns()), duration(axis.extent_ns()));
  } else {
    const double span = (axis.end_ns() - axis.begin_ns()) * (axis.shows_all() ? kGoToShare : 1);
    axis.show(static_cast<double>(*ns) - span / 2, static_cast<double>(*ns) + span / 2);
    gone_to_ns_ = ns;
  }
}

void TimeArea::place(Ui& ui, float gutter) {
  axis.place(ImGui::GetCursorScreenPos().x + gutter, std::max(ui.px(80), ui.width_left() - gutter - ui.px(14)));
}

void TimeArea::ruler(Ui& ui) {
  const ImVec2 from = ImGui::GetCursorScreenPos();
  const float height = ui.px(22);
  for (const TimeAxis::Tick& tick : axis.ticks(ui.px(90))) {
    const float x = axis.x(tick.ns);
    ui.fill({x, from.y + height - ui.px(5), x + 1, from.y + height}, ui.color(Token::kEdge));
    const float width = ui.text_width(tick.label, Face::kSmall);
    // At the end of the axis a label stands before its tick.
    const bool fits = x + width + ui.px(4) < axis.left() + axis.width();
    ui.text_at(fits ? x + ui.px(3) : x - width - ui.px(3), from.y + ui.px(3), tick.label,
               {.face = Face::kSmall, .ink = Token::kMuted, .max_width = width + 2});
  }
  ImGui::Dummy({0, height});
}

float TimeArea::minimap_x(const Rect& rect, double ns) const {
  return rect.left + static_cast<float>((ns - static_cast<double>(axis.first_ns())) / axis.whole_ns()) * rect.width();
}

void TimeArea::minimap(Ui& ui, const std::function<void(const Rect&)>& paint) {
  const ImVec2 from = ImGui::GetCursorScreenPos();
  const Rect rect{axis.left(), from.y + ui.px(2), axis.left() + axis.width(), from.y + ui.px(14)};
  if (axis.extent_ns() <= 0) return;
  const Hit hit =
      ui.target("minimap", {rect.left, from.y - ui.px(3), rect.right, from.y + ui.px(18)},
                {.kind = "minimap", .tooltip = axis.shows_all() ? "" : "Drag to move what is shown", .ring = false});
  ui.fill(rect, ui.color(Token::kRaised), ui.px(3));
  paint(rect);
  ui.outline({minimap_x(rect, axis.begin_ns()), rect.top, minimap_x(rect, axis.end_ns()), rect.bottom},
             ui.color(Token::kAccent), ui.px(3), ui.px(1.5F));
  if (hit.held) {
    const double middle = static_cast<double>(axis.first_ns()) +
                          static_cast<double>((ImGui::GetMousePos().x - rect.left) / rect.width()) * axis.whole_ns();
    const double half = (axis.end_ns() - axis.begin_ns()) / 2;
    axis.show(middle - half, middle + half);
  }
  ImGui::Dummy({0, ui.px(18)});
}

void TimeArea::take_pointer(Ui& ui, Session& session, const Rect& area, const Snap& snapped) {
  const ImGuiIO& io = ImGui::GetIO();
  begin_overlapped();
  const Hit hit = ui.target("area", area, {.kind = "area", .ring = false});
  end_overlapped();
  if (!hit.hovered && !hit.held) return;
  const float x = io.MousePos.x;
  if (io.MouseWheel != 0 && !io.KeyShift) axis.zoom(std::pow(1.2, -io.MouseWheel), x);
  if (io.MouseWheel != 0 && io.KeyShift) axis.pan(-0.1 * io.MouseWheel);
  if (io.MouseWheelH != 0) axis.pan(-0.1 * io.MouseWheelH);
  if (hit.held && (io.KeyCtrl || selecting_ || dragged_)) {
    const auto most = static_cast<std::int64_t>(axis.ns_per_pixel() * static_cast<double>(ui.px(kSnap)));
    const auto at = snapped(static_cast<std::int64_t>(std::clamp(axis.ns(x), static_cast<double>(axis.first_ns()),
                                                                 static_cast<double>(axis.extent_ns()))),
                            most);
    if (!dragged_) dragged_ = TimeRange{at, at};
    dragged_->end_ns = at;
  } else if (hit.dragged) {
    axis.pan(-static_cast<double>(hit.drag_x / axis.width()));
    ImGui::SetScrollY(ImGui::GetScrollY() - hit.drag_y);
  }
  if (!hit.held && dragged_) {
    TimeRange range = *std::exchange(dragged_, std::nullopt);
    if (range.begin_ns > range.end_ns) std::swap(range.begin_ns, range.end_ns);
    Selection s = session.selection();
    s.time = range.end_ns > range.begin_ns ? std::optional(range) : std::nullopt;
    session.select(s);
    selecting_ = false;
  }
}

void TimeArea::draw_marks(Ui& ui, const Rect& area, const std::optional<TimeRange>& selected) const {
  const float hair = std::max(1.F, ui.px(1));
  if (gone_to_ns_) {
    const float x = axis.x(static_cast<double>(*gone_to_ns_));
    ui.fill({x, area.top, x + hair, area.bottom}, ui.color(Token::kAccent));
  }
  const std::optional<TimeRange>& range = dragged_ ? dragged_ : selected;
  if (!range) return;
  const float a = axis.x(static_cast<double>(std::min(range->begin_ns, range->end_ns)));
  const float b = axis.x(static_cast<double>(std::max(range->begin_ns, range->end_ns)));
  ui.fill({a, area.top, b, area.bottom}, ui.color(Token::kAccent, dragged_ ? 0.15F : 0.08F));
  for (const float x : {a, b}) ui.fill({x, area.top, x + hair, area.bottom}, ui.color(Token::kAccent, 0.7F));
  if (!dragged_) return;
  const std::string length = duration_text(std::abs(static_cast<double>(range->end_ns - range->begin_ns)));
  ui.text_at(a + ui.px(4), area.top + ui.px(4), length, {.face = Face::kMono, .max_width = ui.px(120)});
}

bool TimeArea::run(Command command) {
  struct Move {
    Command command;
    double zoom, pan;  // zoom 0: a pan
  };
  static constexpr Move kMoves[] = {
      {Command::kZoomIn, 1 / 1.3, 0},   {Command::kZoomOut, 1.3, 0},      {Command::kZoomInFast, 1 / 2.5, 0},
      {Command::kZoomOutFast, 2.5, 0},  {Command::kPanLeft, 0, -0.1},     {Command::kPanRight, 0, 0.1},
      {Command::kPanLeftFast, 0, -0.5}, {Command::kPanRightFast, 0, 0.5},
  };
  const auto move = std::ranges::find(kMoves, command, &Move::command);
  if (move != std::end(kMoves)) {
    if (move->zoom > 0) {
      axis.zoom(move->zoom);
    } else {
      axis.pan(move->pan);
    }
    return true;
  }
  switch (command) {
    case Command::kSelectRange:
      selecting_ = !selecting_;
      return true;
    case Command::kAll:
      axis.show_all();
      return true;
    case Command::kGoToTime:
      focus_time_ = true;
      return true;
    default:
      return false;
  }
}

void TimeArea::fit(const std::optional<TimeRange>& range, bool toggles) {
  const double margin = range ? static_cast<double>(range->end_ns - range->begin_ns) * 0.05 + 1 : 0;
  const double begin =
      range ? std::max(static_cast<double>(axis.first_ns()), static_cast<double>(range->begin_ns) - margin) : 0;
  if (!range || (toggles && std::abs(axis.begin_ns() - begin) < axis.ns_per_pixel())) {
    axis.show_all();
  } else {
    axis.show(begin, static_cast<double>(range->end_ns) + margin);
  }
}

}  // namespace spscope::gui
