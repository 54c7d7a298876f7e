// Headings and counters in the timeline of whole files: each counter a plot of steps from its least value, or 0, to its
// most.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>

#include "gui/views/timeline/facts.h"
#include "gui/views/timeline/file_time.h"

namespace spscope::gui {
namespace {

constexpr std::size_t kMostBoxes = 6'000;  // of all plots of a band
constexpr float kLeastStep = 3;            // width of a point, in the design's pixels

std::string value_text(const FileRow& row, double value) {
  return fmt::format("{:.5g}{}{}", value, row.unit.empty() ? "" : " ", row.unit);
}

}  // namespace

std::string counter_range_text(const FileRow& row, const CounterSeries& series) {
  return fmt::format("{:.4g} to {:.4g}{}{}", std::min(0.0, series.least()), std::max(0.0, series.most()),
                     row.unit.empty() ? "" : " ", row.unit);
}

const CounterSeries* FileTime::series_of(const Band& band, const FileRow& row) {
  const auto slot = band.counters.find(row.heading);
  const FileCounters* counters = slot != band.counters.end() ? slot->second->value() : nullptr;
  const auto found = counters != nullptr ? counters->find(*row.track) : FileCounters::const_iterator{};
  return counters != nullptr && found != counters->end() ? &found->second : nullptr;
}

void FileTime::draw_told(Ui& ui, Band& band, const Rect& place, int first, int last) {
  const auto row_at = [&](int at) -> const FileRow& {
    return band.times->rows[static_cast<std::size_t>(band.rows[static_cast<std::size_t>(at)])];
  };
  std::size_t plots = 0;
  for (int at = first; at < last; ++at) plots += row_at(at).kind == FileRowKind::kCounter;
  for (int at = first, next = first; at < last; at = next) {
    const int mine = band.rows[static_cast<std::size_t>(at)];
    for (next = at + 1; next < last && band.rows[static_cast<std::size_t>(next)] == mine;) ++next;
    const FileRow& row = row_at(at);
    if (row.kind == FileRowKind::kLanes || row.kind == FileRowKind::kTrack) continue;
    // Also where a part of the row is above the pane.
    int begin = at, end = next;
    while (begin > 0 && band.rows[static_cast<std::size_t>(begin) - 1] == mine) --begin;
    while (end < static_cast<int>(band.rows.size()) && band.rows[static_cast<std::size_t>(end)] == mine) ++end;
    const Rect rect{place.left, band.top + static_cast<float>(begin) * band.row_height, place.right,
                    band.top + static_cast<float>(end) * band.row_height};
    const Token back = row.kind == FileRowKind::kGroup ? Token::kRaised : Token::kSurface;
    ui.fill(rect, ui.color(back));
    const float line = ui.line_height(Face::kSmall);
    if (row.kind != FileRowKind::kCounter) {
      const bool unfolded = row.kind == FileRowKind::kCounters && band.unfolded.contains(row.heading);
      if (!unfolded && !row.unit.empty() && rect.height() >= line)
        ui.text_at(rect.left + ui.px(4), rect.top + (rect.height() - line) / 2 + ui.px(1), row.unit,
                   {.face = Face::kSmall, .ink = Token::kMuted, .max_width = rect.width() - ui.px(8)},
                   ui.theme().color(back));
      continue;
    }
    ui.fill({rect.left, rect.bottom - 1, rect.right, rect.bottom}, ui.color(Token::kRule));
    if (const CounterSeries* series = series_of(band, row); series != nullptr && !series->empty()) {
      draw_plot(ui, band, row, *series, rect, kMostBoxes / plots);
    } else if (rect.height() >= line) {
      ui.text_at(rect.left + ui.px(4), rect.top + (rect.height() - line) / 2 + ui.px(1),
                 series == nullptr ? "its samples are being read" : "no samples",
                 {.face = Face::kSmall, .ink = Token::kMuted, .max_width = rect.width() - ui.px(8)});
    }
  }
}

void FileTime::draw_plot(Ui& ui, const Band& band, const FileRow& row, const CounterSeries& series, const Rect& rect,
                         std::size_t most) const {
  const TimeAxis& axis = time_.axis;
  const auto ns_at = [&](double ns) { return band.times->zero_ns + static_cast<std::int64_t>(ns); };
  const auto columns = static_cast<std::size_t>(rect.width() / ui.px(kLeastStep));
  const std::span<const CounterPoint> points =
      series.points(ns_at(axis.begin_ns()), ns_at(axis.end_ns()) + 1, std::min(columns, most / 2));
  const double low = std::min(0.0, series.least()), high = std::max({0.0, series.most(), low + 1e-12});
  const float top = rect.top + ui.px(2), foot = rect.bottom - ui.px(2), thick = std::max(1.F, ui.px(1.5F));
  const auto y = [&](double value) {
    return foot - static_cast<float>((value - low) / (high - low)) * (foot - top - thick);
  };
  const unsigned area = ui.color(Token::kAccent, 0.22F), edge = ui.color(Token::kAccent);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const CounterPoint& point = points[i];
    const std::int64_t until =
        i + 1 < points.size() ? points[i + 1].time_ns : std::max(series.last_ns(), point.time_ns);
    const float left = std::max(rect.left, axis.x(shown_ns(band, point.time_ns)));
    const float right = std::min(rect.right, std::max(left + 1, axis.x(shown_ns(band, until))));
    if (left >= right) continue;
    ui.fill({left, y(point.most), right, std::max(y(0), y(point.most) + 1)}, area);
    ui.fill({left, y(point.most) - thick, right, std::max(y(point.least), y(point.most))}, edge);
  }
  ui.mark(fmt::format("counter {}", static_cast<std::int64_t>(*row.track)), rect, row.label, false,
          ui.theme().color(Token::kAccent));
}

void FileTime::counter_tip(Ui& ui, const Band& band, const FileRow& row, double ns) const {
  const CounterSeries* series = series_of(band, row);
  if (series == nullptr) return;
  const CounterPoint* point = series->at(static_cast<std::int64_t>(ns));
  const std::string at = moment(static_cast<std::int64_t>(ns) - band.times->zero_ns);
  ui.tooltip([&] {
    if (point == nullptr) return ui.text(fmt::format("{}: no sample at {}", row.title, at));
    ui.text(fmt::format("{} {}", row.title, value_text(row, point->last)), {.face = Face::kBold});
    if (point->least < point->most)
      ui.text(fmt::format("{} to {} around it", value_text(row, point->least), value_text(row, point->most)));
    ui.text(fmt::format("at {}, sampled at {}", at, moment(point->time_ns - band.times->zero_ns)));
  });
}

}  // namespace spscope::gui
