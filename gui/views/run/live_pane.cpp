#include "gui/views/run/live_pane.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "backend/base/number_text.h"
#include "backend/record/rank_records.h"
#include "gui/views/document_view.h"

namespace spscope::gui {
namespace {

constexpr double kZoomStep = 2;
constexpr float kRowHeight = 28, kRulerHeight = 20, kMostOfPane = 0.5F, kMostOfGutter = 220;

void ruler(Ui& ui, const TimeAxis& axis, float top, float height) {
  for (const TimeAxis::Tick& tick : axis.ticks(ui.px(90))) {
    const float x = axis.x(tick.ns), width = ui.text_width(tick.label, Face::kSmall);
    ui.fill({x, top + height - ui.px(5), x + 1, top + height}, ui.color(Token::kEdge));
    if (x + width + ui.px(4) < axis.left() + axis.width())
      ui.text_at(x + ui.px(3), top + ui.px(2), tick.label,
                 {.face = Face::kSmall, .ink = Token::kMuted, .max_width = width + 2});
  }
}

// The event that says most about a moment of a rank; nullptr for none.
const SpanEvent* event_at(const LivePicture& picture, const LiveStrip& strip, double ns) {
  const std::int64_t bucket =
      lod_bucket(picture.first_ns + static_cast<std::int64_t>(ns), picture.shift) - picture.first_bucket;
  if (bucket < 0 || bucket >= std::ssize(strip.longest)) return nullptr;
  const std::optional<SpanEvent>& event = strip.longest[static_cast<std::size_t>(bucket)];
  return event ? &*event : nullptr;
}

RowOf row_of(const LiveStrip& strip) { return strip.track.empty() ? RowOf::kLanes : RowOf::kTrack; }

bool leads_in(const LiveStrip& strip, TimePart part) {
  for (int c = 0; c < kNumEventCategories; ++c)
    if ((strip.categories >> c & 1) != 0 && part_of(static_cast<EventCategory>(c), row_of(strip)) == part) return true;
  return false;
}

bool is_modelled(const LivePicture& picture) {
  for (const LiveStrip& strip : picture.rows)
    for (const std::optional<SpanEvent>& event : strip.longest)
      if (event && strip.track.empty()) return (event->flags & kEventModelled) != 0;
  return false;
}

}  // namespace

void LivePane::follow(Workers& workers, const std::string& out) {
  if (out != strips_.out()) {
    axis_ = {};
    window_ = {};
  }
  window_.begin_ns = axis_.begin_ns();
  window_.span_ns = window_.follow && axis_.shows_all() ? 0 : axis_.end_ns() - axis_.begin_ns();
  if (axis_.extent_ns() == 0) window_.span_ns = 0;
  if (window_.follow) window_.begin_ns = 0;  // it is where the newest events are
  window_.columns = std::max(100, static_cast<int>(axis_.width()));
  strips_.follow(workers, out, window_);
  drawn_ = false;
}

void LivePane::draw(Ui& ui, const std::string& out, const WatchedRun* now) {
  const LivePicture* picture = out == strips_.out() ? strips_.seen() : nullptr;
  if (picture == nullptr) return;
  const Ui::Scope inside = ui.scope("live");
  if (picture->events == 0) {
    const bool plans = now != nullptr && now->progress && now->progress->phase == "plan";
    ui.note(plans ? "Nothing to draw yet: the plans are being made, and no rank works."
                  : "Nothing to draw yet: no event is in the files of the run.");
    ui.space(6);
    return;
  }
  const std::int64_t extent = picture->until_ns - picture->first_ns;
  const double begin = axis_.begin_ns(), end = axis_.end_ns();
  const bool all = axis_.extent_ns() == 0 || axis_.shows_all();
  axis_.set_extent(extent);
  if (!window_.follow) {
    axis_.show(begin, end);
  } else if (!all) {
    axis_.show(static_cast<double>(extent) - (end - begin), static_cast<double>(extent));
  }
  buttons(ui);
  float gutter = ui.text_width("rank 000", Face::kSmall);
  for (const LiveStrip& strip : picture->rows) gutter = std::max(gutter, ui.text_width(strip.label, Face::kSmall));
  gutter = std::min(gutter, std::min(ui.px(kMostOfGutter), ui.width_left() / 3)) + ui.px(10);
  const float rows = static_cast<float>(picture->rows.size());
  const float head = ui.px(kRulerHeight), least = std::min(rows * ui.px(kRowHeight), ui.px(60));
  const float height = std::clamp(ui.height_left() * kMostOfPane - head, least, rows * ui.px(kRowHeight));
  const ImVec2 from = ImGui::GetCursorScreenPos();
  axis_.place(from.x + gutter, std::max(ui.px(40), ui.width_left() - gutter - ui.px(4)));
  ruler(ui, axis_, from.y, head);
  const Rect rect{axis_.left(), from.y + head, axis_.left() + axis_.width(), from.y + head + height};
  strips(ui, rect, *picture, gutter - ui.px(8));
  drawn_ = true;
  const Hit hit = ui.target("strips", rect, {.kind = "area", .ring = false});
  take_pointer(hit);
  if (hit.hovered && !hit.held) tell(ui, rect, *picture, now);
  ImGui::SetCursorScreenPos({from.x, rect.bottom + ui.px(4)});
  const bool modelled = is_modelled(*picture);
  const bool has_ranks = std::ranges::any_of(picture->rows, [](const LiveStrip& s) { return s.track.empty(); });
  bool first = true;
  for (std::size_t part = 0; part < kNumTimeParts; ++part) {
    const bool leads = std::ranges::any_of(
        picture->rows, [&](const LiveStrip& strip) { return leads_in(strip, static_cast<TimePart>(part)); });
    if (!leads && !(has_ranks && part < kNumRankParts)) continue;
    const bool hatched = modelled && part < kNumRankParts;
    draw_legend_part(ui, part, std::string(part_name(static_cast<TimePart>(part))) + (hatched ? " (modelled)" : ""),
                     hatched, std::exchange(first, false));
  }
  ui.space(6);
}

void LivePane::buttons(Ui& ui) {
  if (ui.checkbox("follow", "Follow the newest events", window_.follow, "Without it the picture stands still") &&
      window_.follow && !axis_.shows_all())
    axis_.show(static_cast<double>(axis_.extent_ns()) - (axis_.end_ns() - axis_.begin_ns()),
               static_cast<double>(axis_.extent_ns()));
  const float buttons = ui.text_width("Zoom inZoom outAll") + 3 * ui.px(16) + 2 * ui.px(4) + ui.px(18);
  if (ImGui::GetItemRectMax().x + buttons < ImGui::GetItemRectMin().x + ui.width_left()) ui.same_line(14);
  const float middle = axis_.left() + axis_.width() / 2;
  if (ui.button("zoom in", "Zoom in", {.quiet = true, .tooltip = "Also the wheel, at the pointer"}))
    zoom(1 / kZoomStep, middle);
  ui.same_line(4);
  if (ui.button("zoom out", "Zoom out", {.quiet = true})) zoom(kZoomStep, middle);
  ui.same_line(4);
  if (ui.button("all", "All", {.quiet = true, .selected = axis_.shows_all(), .tooltip = "From the first event on"}))
    axis_.show_all();
}

// While it follows, the newest events stay at the right edge.
void LivePane::zoom(double factor, float x) { axis_.zoom(factor, window_.follow ? axis_.left() + axis_.width() : x); }

void LivePane::take_pointer(const Hit& hit) {
  if (!hit.hovered && !hit.held) return;
  const ImGuiIO& io = ImGui::GetIO();
  if (io.MouseWheel != 0 && !io.KeyShift) zoom(std::pow(1.2, -io.MouseWheel), io.MousePos.x);
  double pan = 0;
  if (io.MouseWheel != 0 && io.KeyShift) pan = -0.1 * static_cast<double>(io.MouseWheel);
  if (hit.dragged) pan = -static_cast<double>(hit.drag_x / axis_.width());
  if (pan == 0) return;
  window_.follow = false;
  axis_.pan(pan);
}

void LivePane::strips(Ui& ui, const Rect& rect, const LivePicture& picture, float gutter) {
  StripPiece piece;
  piece.shift = picture.shift;
  piece.first_bucket = picture.first_bucket;
  std::size_t buckets = 0;
  for (const LiveStrip& strip : picture.rows) {
    piece.rows.emplace_back(strip.strip);
    buckets = std::max(buckets, strip.strip.size());
  }
  piece.begin_ns = std::max(picture.first_ns, lod_begin_ns(picture.first_bucket, picture.shift));
  piece.end_ns = std::min(picture.until_ns,
                          lod_begin_ns(picture.first_bucket + static_cast<std::int64_t>(buckets), picture.shift));
  std::vector<StripRow> rows;
  for (const LiveStrip& strip : picture.rows) rows.push_back({static_cast<int>(rows.size()), row_of(strip)});
  picture_.draw(ui, rect, {.pieces = {&piece, 1}, .rows = rows, .zero_ns = picture.first_ns}, axis_);
  if (is_modelled(picture)) ui.hatch(rect, ui.color(Token::kSurface, 0.28F));
  const float height = rect.height() / static_cast<float>(rows.size()), line = ui.line_height(Face::kSmall);
  const int every = std::max(1, static_cast<int>(std::ceil(line / height)));
  for (std::size_t i = 0; i < picture.rows.size(); ++i) {
    const LiveStrip& strip = picture.rows[i];
    const float top = rect.top + static_cast<float>(i) * height;
    const auto newest = std::ranges::find_if(strip.longest.rbegin(), strip.longest.rend(),
                                             [](const std::optional<SpanEvent>& event) { return event.has_value(); });
    ui.mark(strip.label, {rect.left, top, rect.right, top + height},
            newest != strip.longest.rend() ? picture.name(**newest) : "");
    if (i % static_cast<std::size_t>(every) != 0) continue;
    const float width = std::min(gutter, ui.text_width(strip.label, Face::kSmall));
    ui.text_at(rect.left - width - ui.px(6), top + std::max(0.F, (height - line) / 2), strip.label,
               {.face = Face::kSmall, .ink = Token::kMuted, .max_width = width + 2});
  }
}

void LivePane::tell(Ui& ui, const Rect& rect, const LivePicture& picture, const WatchedRun* now) {
  const ImVec2 at = ImGui::GetIO().MousePos;
  const auto row = static_cast<std::size_t>(std::clamp((at.y - rect.top) / rect.height(), 0.F, 0.999F) *
                                            static_cast<float>(picture.rows.size()));
  const LiveStrip& strip = picture.rows[row];
  const double ns = axis_.ns(at.x);
  const SpanEvent* event = event_at(picture, strip, ns);
  ui.tooltip([&] {
    const bool says_rank = strip.track.empty() || strip.rank == kNoRank;
    ui.text(fmt::format("{}{} at {}", strip.track.empty() ? fmt::format("rank {}", strip.rank) : strip.track,
                        says_rank ? "" : fmt::format(", rank {},", strip.rank), duration_text(ns)),
            {.face = Face::kBold});
    if (event == nullptr) {
      ui.text(ns > static_cast<double>(picture.until_ns - picture.first_ns) ? "nothing is recorded yet" : "nothing");
    } else {
      const std::string lasts = event->end_ns == kNeverEnded
                                    ? "not ended"
                                    : duration_text(static_cast<double>(event->end_ns - event->begin_ns));
      ui.text(fmt::format("{}, {}, from {}", picture.name(*event), lasts,
                          duration_text(static_cast<double>(event->begin_ns - picture.first_ns))));
    }
    if (now == nullptr || !strip.track.empty()) return;
    for (const WatchedRank& rank : now->ranks)
      if (rank.rank == strip.rank) ui.text("now: " + doing_text(rank), {.ink = Token::kMuted});
  });
}

Json LivePane::dump() {
  const LivePicture* picture = strips_.seen();
  if (picture == nullptr || !drawn_) return {};
  Json ranks = Json::array(), tracks = Json::array();
  for (const LiveStrip& strip : picture->rows) {
    Json row = {{"rank", strip.rank},
                {"busy_buckets", std::ranges::count_if(strip.strip, [](auto byte) { return (byte & 15) != 0; })}};
    if (!strip.track.empty()) row["track"] = strip.track;
    (strip.track.empty() ? ranks : tracks).push_back(std::move(row));
  }
  return {
      {"events", picture->events},    {"follow", window_.follow}, {"newest_ns", picture->until_ns - picture->first_ns},
      {"begin_ns", axis_.begin_ns()}, {"end_ns", axis_.end_ns()}, {"ranks", std::move(ranks)},
      {"tracks", std::move(tracks)}};
}

}  // namespace spscope::gui
