// The rows of the timeline: rectangles where they can be told apart, else one texture a row; and what is drawn over
// them: the critical path, messages of the selected operation, what is measured.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "backend/base/listed.h"
#include "backend/base/number_text.h"
#include "gui/imgui_compat.h"
#include "gui/views/document_view.h"
#include "gui/views/timeline/band_words.h"
#include "gui/views/timeline/time_spans.h"
#include "gui/views/timeline/timeline_view.h"

namespace spscope::gui {
namespace {

// Rectangles of a draw list; rows beyond are textures.
constexpr int kMostPassSpans = 10'000;
constexpr int kMostMessages = 8;
// A rank that starts early is told of where it is by more than so small a part of the makespan.
constexpr std::int64_t kEarlyPart = 100;
constexpr float kRankNameHeight = 13;  // of the name of a rank, in the design's pixels
// Opacity of what covers rows that are not meant.
constexpr float kDimmedPass = 0.72F;

// Of the colour of a part, what is behind the words of a ghost and what its pixels have of it.
constexpr float kGhostFill = 0.14F, kGhostPixels = 0.5F;

// A rectangle of time that would be: hollow, with slanted lines; late peer as it is everywhere.
void draw_ghost_time(Ui& ui, const Rect& rect, std::size_t part) {
  if (static_cast<TimePart>(part) == TimePart::kLatePeer) return draw_time(ui, rect, part, true);
  const Token token = part_token(part);
  ui.fill(rect, ui.color(token, rect.width() > ui.px(3) ? kGhostFill : kGhostPixels));
  if (rect.width() <= ui.px(3)) return;
  if (rect.height() >= ui.px(8)) ui.hatch(rect, ui.color(token, 0.3F));
  ui.outline(rect, ui.color(part_edge_token(part)), 0, std::max(1.F, ui.px(1.2F)));
}

void arrow(Ui& ui, float x0, float y0, float x1, float y1, unsigned color, float thick) {
  ImDrawList& list = ui.draw_list();
  list.AddLine({x0, y0}, {x1, y1}, color, thick);
  const float dx = x1 - x0, dy = y1 - y0, length = std::max(1.F, std::hypot(dx, dy)), s = ui.px(6);
  const float ux = dx / length, uy = dy / length;
  list.AddTriangleFilled({x1, y1}, {x1 - s * ux + s * 0.5F * uy, y1 - s * uy - s * 0.5F * ux},
                         {x1 - s * ux - s * 0.5F * uy, y1 - s * uy + s * 0.5F * ux}, color);
}

}  // namespace

void TimelineView::paint_minimap(Ui& ui, const Rect& rect) {
  float y = rect.top + ui.px(1);
  const float step = (rect.height() - ui.px(2)) / static_cast<float>(std::max<std::size_t>(1, shown_.size()));
  for (const Shown& shown : shown_) {
    if (shown.band != nullptr)
      ui.fill({time_.minimap_x(rect, 0), y, time_.minimap_x(rect, static_cast<double>(shown.band->makespan_ns)),
               y + std::max(1.F, step - 1)},
              ui.color(Token::kCompute, 0.6F));
    y += step;
  }
}

std::string TimelineView::name_of(const StrategyKey& key) {
  return key.file == 0 ? key.id : fmt::format("{}:{}", key.file, key.id);
}

// While the pointer is over the label of a rank, the rows of all others are dim.
void TimelineView::draw_dimmed(Ui& ui) {
  if (!pointed_) return;
  for (const auto& [key, row] : drawn_) {
    if (key.rank == *pointed_) continue;
    const Rect rect{time_.axis.left(), row.top, time_.axis.left() + time_.axis.width(), row.bottom};
    ui.fill(rect, ui.color(Token::kSurface, kDimmedPass));
    ui.mark(fmt::format("dim {}{} rank {}", key.ghost ? "ghost " : "", name_of(key.strategy), key.rank), rect);
  }
}

void TimelineView::draw_band(Ui& ui, Session& session, Shown& shown) {
  const Ui::Scope inside = ui.scope("band " + name_of(shown.chosen.key));
  const TimeAxis& axis = time_.axis;
  const ImVec2 from = ImGui::GetCursorScreenPos();
  const float right = time_.axis.left() + time_.axis.width(), head = ui.px(26);
  ui.fill({from.x, from.y, right, from.y + head}, ui.color(Token::kRaised));
  const std::optional<Rgb> behind = ui.theme().color(Token::kRaised);
  ui.text_at(from.x + ui.px(6), from.y + ui.px(5), shown.chosen.label,
             {.face = Face::kBold, .max_width = time_.axis.left() - from.x - ui.px(10)}, behind);
  std::string words = shown.problem;
  if (shown.band != nullptr) {
    std::vector<BandTime> all;
    for (const Shown& other : shown_)
      if (other.band != nullptr) all.push_back({&other.chosen, other.band->makespan_ns});
    words = band_words({&shown.chosen, shown.band->makespan_ns}, all);
    if (-shown.band->begin_ns * kEarlyPart > shown.band->makespan_ns)
      words += fmt::format("; its first rank starts {} early, while the previous pass finishes",
                           duration_text(static_cast<double>(-shown.band->begin_ns)));
  } else if (words.empty()) {
    words = "loading";
  }
  ui.text_at(time_.axis.left() + ui.px(4), from.y + ui.px(5), words,
             {.ink = Token::kMuted, .max_width = time_.axis.width() - ui.px(8)}, behind);
  ImGui::Dummy({right - from.x, head});
  if (shown.other_repeat) {
    ImGui::SetCursorScreenPos({axis.left() + ui.px(4), ImGui::GetCursorScreenPos().y + ui.px(4)});
    if (ui.button("other repeat", fmt::format("Show repeat {}", *shown.other_repeat),
                  {.tooltip = "The nearest repeat whose timeline the file keeps"})) {
      Scope scope = session.scope();
      scope.repeat = shown.other_repeat;
      session.set_scope(std::move(scope));
    }
    ImGui::SetCursorScreenPos({from.x, ImGui::GetCursorScreenPos().y + ui.px(4)});
  }
  if (shown.band == nullptr) return;
  draw_rows(ui, session, shown, rows_of(shown));
  ImGui::Dummy({0, has_ghost(shown) ? 0 : ui.px(8)});
}

void TimelineView::draw_rows(Ui& ui, Session& session, const Shown& shown, const std::vector<const BandRow*>& rows) {
  const ImVec2 from = ImGui::GetCursorScreenPos();
  const float right = time_.axis.left() + time_.axis.width();
  // 512 ranks fit one screen: rows shrink to a pixel or two. A band and its ghost fit together.
  const float room = std::max(ui.px(60), ui.clip().bottom - ui.clip().top - ui.px(40)) / (has_ghost(shown) ? 2 : 1);
  const float height =
      std::clamp(room / static_cast<float>(std::max<std::size_t>(1, rows.size())), std::max(1.F, ui.px(1)), ui.px(22));
  std::int64_t visible = 0;
  for (const BandRow* row : rows) visible += visible_spans(*row);
  lines_ = visible > kMostPassSpans;
  const int step = label_step(height, ui.px(kRankNameHeight));
  int number = 0;
  for (const BandRow* row : rows) {
    if (step > 1 && number++ % step == 0) draw_label_beside_thin_rows(ui, *row);
    draw_row(ui, session, shown, *row, height);
    if (!unfolded_.contains({shown.chosen.key, row->rank})) continue;
    for (const BandRow& lane : shown.band->lanes[static_cast<std::size_t>(row->rank)])
      draw_row(ui, session, shown, lane, ui.px(18));
  }
  // Where the makespan ends; and where it begins, if there is something before.
  const auto border = [&](const char* name, double ns) {
    const float x = time_.axis.x(ns);
    const Rect line{x, from.y, x + std::max(1.F, ui.px(1)), ImGui::GetCursorScreenPos().y};
    if (x <= time_.axis.left() || x >= right) return;
    ui.fill(line, ui.color(Token::kInk, 0.7F));
    ui.mark(name, line);
  };
  border("end", static_cast<double>(shown.band->makespan_ns));
  if (shown.band->begin_ns < 0) border("begin", 0);
  if (shown.old) ui.dim({from.x, from.y, right, ImGui::GetCursorScreenPos().y});
}

// Strategies that have no band: said once, with a way to where they have one.
void TimelineView::draw_elsewhere(Ui& ui, Session& session) {
  const auto pass = session.pass();
  if (elsewhere_.empty() || !pass) return;
  std::vector<std::string> labels;
  for (const Chosen& c : elsewhere_) labels.push_back(c.label);
  const Ui::Scope inside = ui.scope("elsewhere");
  ui.text(fmt::format("Not run in layer {} of denoise step {}: {}.", pass->layer, pass->step, listed(labels)),
          {.ink = Token::kMuted, .wrap = true});
  const auto slowest = slowest_pass_of(*elsewhere_.front().strategy);
  if (!slowest || !ui.button("show", fmt::format("Show {} in its slowest layer pass", elsewhere_.front().label)))
    return;
  Scope scope = session.scope();
  scope.layer = slowest->layer;
  scope.step = slowest->step;
  session.set_scope(std::move(scope));
}

// How many spans of a row lie in the time on the screen.
int TimelineView::visible_spans(const BandRow& row) const {
  const auto first = std::ranges::lower_bound(row.spans, time_.axis.begin_ns(), {},
                                              [](const TimeSpan& s) { return static_cast<double>(s.end_ns); });
  const auto last = std::ranges::lower_bound(row.spans, time_.axis.end_ns(), {},
                                             [](const TimeSpan& s) { return static_cast<double>(s.begin_ns); });
  return static_cast<int>(std::max<std::ptrdiff_t>(0, last - first));
}

// The name of a rank whose row has no room for it, at its top.
void TimelineView::draw_label_beside_thin_rows(Ui& ui, const BandRow& row) const {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ui.text_at(at.x + ui.px(22), at.y, fmt::format("rank {}", row.rank),
             {.face = Face::kSmall, .ink = Token::kMuted, .max_width = time_.axis.left() - at.x - ui.px(26)});
}

void TimelineView::draw_row(Ui& ui, Session& session, const Shown& shown, const BandRow& row, float height) {
  const ImVec2 from = ImGui::GetCursorScreenPos();
  const Rect whole{from.x, from.y, time_.axis.left() + time_.axis.width(), from.y + height};
  ImGui::Dummy({whole.width(), height});
  const Selection& selection = session.selection();
  const bool same_band = selection.strategy == shown.chosen.key;
  const bool selected = same_band && selection.rank == row.rank;
  if (row.lane < 0) drawn_[row_key(shown, row.rank)] = {whole.top, whole.bottom, &row, shown.band};
  if (whole.bottom < ui.clip().top || whole.top > ui.clip().bottom) return;
  const bool readable = height >= ui.px(kRankNameHeight);
  const Rect gutter{whole.left, whole.top, time_.axis.left() - ui.px(4), whole.bottom};
  const std::pair key{shown.chosen.key, row.rank};
  if (selected) ui.fill(gutter, ui.color(Token::kSelected));
  const std::string label = row.lane < 0    ? fmt::format("rank {}", row.rank)
                            : row.lane == 0 ? "compute lane"
                                            : fmt::format("lane {}", row.lane);
  const Hit hit =
      ui.target(row.lane < 0 ? fmt::format("rank {}", row.rank) : fmt::format("rank {} lane {}", row.rank, row.lane),
                gutter, {.kind = "row", .text = label, .selected = selected, .small = !readable || height < ui.px(20)});
  if (hit.clicked && row.lane < 0) {
    Selection s = selection;
    s.strategy = shown.chosen.key;
    s.rank = row.rank;
    s.op.reset();
    session.select(s);
  }
  if (hit.hovered) pointed_ = row.rank;
  if (hit.double_clicked && row.lane < 0 && unfolded_.erase(key) == 0) unfolded_.insert(key);
  if (readable) {
    const float indent = row.lane < 0 ? ui.px(22) : ui.px(36);
    if (row.lane < 0) {
      const Rgb color = rank_color(row.rank);
      ui.fill({gutter.left + ui.px(8), gutter.top + ui.px(4), gutter.left + ui.px(12), gutter.bottom - ui.px(4)},
              Ui::color(color), ui.px(2));
    }
    const std::string pin = pinned_.contains(key) && row.lane < 0 ? " (pinned)" : "";
    ui.text_at(
        gutter.left + indent, gutter.top + (height - ui.line_height(Face::kSmall)) / 2 + ui.px(2), label + pin,
        {.face = Face::kSmall, .ink = row.lane < 0 ? Token::kInk : Token::kMuted, .max_width = gutter.width() - indent},
        selected ? std::optional(ui.theme().color(Token::kSelected)) : std::nullopt);
  }
  const Rect place{time_.axis.left(), whole.top + (height > ui.px(6) ? 1.F : 0.F), whole.right,
                   whole.bottom - (height > ui.px(6) ? 1.F : 0.F)};
  ImGui::PushClipRect({place.left, place.top}, {place.right, place.bottom}, true);
  const int visible = visible_spans(row);
  const bool pixels = (lines_ && height < ui.px(4)) || spans_drawn_ + visible > kMostPassSpans ||
                      visible > static_cast<int>(place.width());
  if (pixels) {
    paint_pixels(ui, shown, row, place);
  } else {
    paint_spans(ui, shown, row, place, selection);
    spans_drawn_ += visible;
  }
  ImGui::PopClipRect();
  // What the pointer is over.
  const ImVec2 mouse = ImGui::GetMousePos();
  if (!place.holds(mouse.x, mouse.y) || !ImGui::IsWindowHovered(ImGuiHoveredFlags_AllowWhenBlockedByActiveItem)) return;
  const double now = time_.axis.ns(mouse.x);
  const auto over =
      std::ranges::lower_bound(row.spans, now, {}, [](const TimeSpan& s) { return static_cast<double>(s.end_ns); });
  if (over == row.spans.end() || static_cast<double>(over->begin_ns) > now + time_.axis.ns_per_pixel()) return;
  hovered_ = {&shown, over->op};
  if (ImGui::IsMouseReleased(ImGuiMouseButton_Left) && !time_.measuring() &&
      ImGui::GetMouseDragDelta(ImGuiMouseButton_Left, 0).x == 0)
    select_op(session, shown, over->op);
}

void TimelineView::paint_spans(Ui& ui, const Shown& shown, const BandRow& row, const Rect& place,
                               const Selection& selection) {
  const RunProvenance& from = shown.band->pass->run.provenance;
  const bool here = selection.strategy == shown.chosen.key;
  auto span = std::ranges::lower_bound(row.spans, time_.axis.begin_ns(), {},
                                       [](const TimeSpan& s) { return static_cast<double>(s.end_ns); });
  for (; span != row.spans.end() && static_cast<double>(span->begin_ns) < time_.axis.end_ns(); ++span) {
    const float left = std::max(place.left, time_.axis.x(static_cast<double>(span->begin_ns)));
    const float right = std::min(place.right, std::max(left + 1, time_.axis.x(static_cast<double>(span->end_ns))));
    // A hair of space between operations that follow each other at once.
    const Rect rect{left, place.top, right - (right - left > ui.px(4) ? 1.F : 0.F), place.bottom};
    const Source source = span->part == TimePart::kCompute ? from.compute : from.network;
    if (shown.ghost)
      draw_ghost_time(ui, rect, static_cast<std::size_t>(span->part));
    else
      draw_time(ui, rect, static_cast<std::size_t>(span->part),
                source == Source::kModelled && place.height() >= ui.px(8));
    const std::string& name = shown.band->name(span->op);
    const bool selected = here && selection.op == span->op;
    const bool twin = !here && selection.op && selection.rank == row.rank && name == selection.name;
    const bool same_name = !selection.name.empty() && name == selection.name && !selection.op;
    if (selected) {
      ui.outline(rect, ui.color(Token::kInk), 0, ui.px(2));
    } else if (twin || same_name) {
      ui.outline(rect, ui.color(Token::kInk, 0.75F), 0, ui.px(1));
    }
    const float width = right - left;
    if (width >= ui.px(24) && place.height() >= ui.px(13)) {
      const auto part = static_cast<std::size_t>(span->part);
      const bool hollow = shown.ghost || span->part == TimePart::kLatePeer;
      const Token ink = hollow ? Token::kInk : on_part_token(part);
      const Rgb full = ui.theme().color(part_token(part)), surface = ui.theme().color(Token::kSurface);
      const Rgb back = shown.ghost ? mixed(full, surface, kGhostFill) : hollow ? surface : full;
      const std::string words = span->part == TimePart::kLatePeer ? "wait: " + name : name;
      ui.text_at(left + ui.px(4), place.top + (place.height() - ui.line_height(Face::kSmall)) / 2 + ui.px(2), words,
                 {.face = Face::kSmall, .ink = ink, .max_width = width - ui.px(7)}, back);
    }
    ui.mark(fmt::format(
                "{} op {} {}",
                row.lane < 0 ? fmt::format("rank {}", row.rank) : fmt::format("rank {} lane {}", row.rank, row.lane),
                span->op, static_cast<int>(span->part)),
            rect, name, selected, ui.theme().color(part_edge_token(static_cast<std::size_t>(span->part))));
  }
}

void TimelineView::paint_pixels(Ui& ui, const Shown& shown, const BandRow& row, const Rect& place) {
  const int columns = std::max(1, static_cast<int>(place.width()));
  std::vector<PixelCell> cells(static_cast<std::size_t>(columns));
  fold_row(row.spans, time_.axis.begin_ns(), time_.axis.end_ns(), cells);
  const Rgb under = ui.theme().color(Token::kSurface);
  std::vector<std::uint32_t> texels;
  texels.reserve(cells.size());
  for (const PixelCell& cell : cells) {
    const float share = (cell.busy == 0 ? 0 : 0.35F + 0.65F * cell.busy) * (shown.ghost ? kGhostPixels : 1);
    texels.push_back(Ui::color(mixed(ui.theme().color(part_token(static_cast<std::size_t>(cell.part))), under, share)));
  }
  Texture& texture = pixels_[fmt::format("{} {} {} {}", name_of(shown.chosen.key), row.rank, row.lane, shown.ghost)];
  texture.set(columns, 1, texels);
  if (texture.name() != 0)
    ui.draw_list().AddImage(texture_id(texture.name()), {place.left, place.top}, {place.right, place.bottom});
}

void TimelineView::draw_path(Ui& ui, const Shown& shown) {
  ImDrawList& list = ui.draw_list();
  const unsigned color = ui.color(Token::kInk, 0.9F);
  std::optional<ImVec2> first, before;
  for (const PathStep& step : shown.band->path.steps) {
    const auto row = drawn_.find(row_key(shown, step.rank));
    if (row == drawn_.end()) continue;
    const float y = row->second.bottom - ui.px(3);
    const ImVec2 a{time_.axis.x(static_cast<double>(step.begin_ns)), y},
        b{time_.axis.x(static_cast<double>(step.end_ns)), y};
    if (before) list.AddLine(*before, a, color, ui.px(1.5F));
    if (!first) first = a;
    if (step.share == PathShare::kIdle) {
      for (float x = a.x; x < b.x; x += ui.px(6))
        list.AddLine({x, y}, {std::min(x + ui.px(3), b.x), y}, color, ui.px(1.5F));
    } else {
      list.AddLine(a, b, color, ui.px(2));
    }
    before = b;
  }
  if (first)
    ui.mark((shown.ghost ? "ghost critical path " : "critical path ") + name_of(shown.chosen.key),
            {first->x, first->y - 1, before->x, before->y + 1});
}

std::vector<TimelineView::Arrow> TimelineView::arrows(const Shown& shown, const Selection& selection) {
  std::vector<Arrow> list;
  if (shown.band == nullptr || selection.strategy != shown.chosen.key || !selection.op) return list;
  const Band& band = *shown.band;
  const Plan& plan = *band.pass->plan;
  if (static_cast<std::size_t>(*selection.op) >= plan.ops.size()) return list;
  const Op& op = plan.ops[static_cast<std::size_t>(*selection.op)];
  if (!communicates(plan.kind_of(op))) return list;
  for (const MessageId id : plan.messages_of(op)) {
    const Message& m = plan.messages[static_cast<std::size_t>(id)];
    const OpId from = band.op_of(op.post, m.src), to = band.op_of(op.post, m.dst);
    if (m.src == m.dst || from == kNone || to == kNone) continue;
    list.push_back({m.src, m.dst, band.times(from).begin_ns, band.times(to).end_ns, false});
    if (std::ssize(list) == kMostMessages) break;
  }
  // From the wait to the rank that came last.
  if (const OpId late = band.late_partner(*selection.op); late != kNone)
    list.push_back({op.rank, plan.ops[static_cast<std::size_t>(late)].rank, band.times(*selection.op).begin_ns,
                    band.times(late).post_ns, true});
  return list;
}

void TimelineView::draw_links(Ui& ui, const Shown& shown, const Selection& selection) {
  const auto middle = [&](int rank) -> std::optional<float> {
    const auto row = drawn_.find(row_key(shown, rank));
    if (row == drawn_.end()) return std::nullopt;
    return (row->second.top + row->second.bottom) / 2;
  };
  for (const Arrow& each : arrows(shown, selection)) {
    const auto y0 = middle(each.from_rank), y1 = middle(each.to_rank);
    if (!y0 || !y1) continue;
    arrow(ui, time_.axis.x(static_cast<double>(each.from_ns)), *y0, time_.axis.x(static_cast<double>(each.to_ns)), *y1,
          each.to_late ? ui.color(Token::kLate) : ui.color(Token::kInk, 0.6F), ui.px(each.to_late ? 2 : 1.2F));
  }
}

}  // namespace spscope::gui
