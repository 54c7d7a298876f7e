#include "gui/views/timeline/facts.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>

#include "backend/base/number_text.h"
#include "backend/report/section.h"
#include "gui/session/link.h"
#include "gui/views/document_view.h"

namespace spscope::gui {

std::string duration(std::int64_t ns) { return duration_text(static_cast<double>(ns)); }

std::string moment(std::int64_t ns) {
  std::string text = time_text(ns);
  return text.insert(text.find_last_of("0123456789") + 1, " ");
}

void fact(Ui& ui, std::string_view name, const std::string& value) {
  ui.text(name, {.ink = Token::kMuted, .max_width = ui.px(116)});
  ImGui::SameLine(ui.px(140));
  ui.text(value, {.face = Face::kMono});
}

void draw_parts(Ui& ui, std::span<const TimePart> parts) {
  for (const TimePart& part : parts)
    draw_legend_part(ui, static_cast<std::size_t>(part), std::string(part_name(part)), false, &part == parts.data());
}

Row statistics_row(std::string what, const DurationStatistics& s) {
  return {{text_cell(std::move(what)), cell(Hint::kCount, static_cast<double>(s.count)), duration_cell(s.total_ns),
           cell(Hint::kDuration, s.mean_ns), duration_cell(s.median_ns), duration_cell(s.p90_ns),
           duration_cell(s.p99_ns), cell(Hint::kDuration, s.deviation_ns)}};
}
Table statistics_table(const std::string& what) {
  Table table;
  table.columns = {text_column(what),
                   number_column("count", "", 0),
                   number_column("total", "", 0),
                   number_column("mean", "", 0),
                   number_column("median", "", 0),
                   number_column("P90", "", 0),
                   number_column("P99", "", 0),
                   number_column("deviation", "", 0)};
  return table;
}

Rect draw_statistics(Ui& ui, const std::string& name, const DurationStatistics& s) {
  ui.space(6);
  ui.text(fmt::format("{}: {} of them", name, s.count), {.face = Face::kBold, .wrap = true});
  fact(ui, "mean", duration_text(s.mean_ns));
  fact(ui, "median", duration(s.median_ns));
  fact(ui, "P90, P99", duration(s.p90_ns) + ", " + duration(s.p99_ns));
  fact(ui, "deviation", duration_text(s.deviation_ns));
  const ImVec2 from = ImGui::GetCursorScreenPos();
  // Bars of a few bins are no wider than those of many: equal durations are one bar and not a block.
  const float height = ui.px(70), bins = static_cast<float>(s.histogram.size());
  const float step = std::min(ui.width_left() / bins, ui.px(24)), width = step * bins;
  const std::int64_t most = std::ranges::max_element(s.histogram, {}, &DurationBin::count)->count;
  for (std::size_t i = 0; i < s.histogram.size(); ++i) {
    const DurationBin& bin = s.histogram[i];
    const float h = static_cast<float>(bin.count) / static_cast<float>(most) * height;
    const float x = from.x + static_cast<float>(i) * step;
    const Rect bar{x, from.y + height - h, x + std::max(1.F, step - 1), from.y + height};
    ui.fill(bar, ui.color(Token::kCompute));
    ui.mark(fmt::format("bin {}", i), bar, fmt::format("{} from {}", bin.count, time_text(bin.begin_ns)));
  }
  ui.fill({from.x, from.y + height, from.x + width, from.y + height + 1}, ui.color(Token::kEdge));
  ImGui::Dummy({width, height + ui.px(3)});
  ui.text(duration(s.histogram.front().begin_ns) + " to " + duration(s.histogram.back().end_ns),
          {.face = Face::kSmall, .ink = Token::kMuted});
  return {from.x, from.y, from.x + width, from.y + height};
}

}  // namespace spscope::gui
