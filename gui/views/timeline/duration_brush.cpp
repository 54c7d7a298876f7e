#include "gui/views/timeline/duration_brush.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <tuple>

#include "backend/base/number_text.h"
#include "backend/report/section.h"
#include "gui/views/timeline/facts.h"

namespace spscope::gui {
namespace {

// Rows of the table, and frames on the screen.
constexpr std::size_t kMostBrushed = 10'000;
constexpr int kMostLit = 5'000;

std::int64_t length(const OpTimes& t) { return t.end_ns - t.begin_ns; }

Table table_of(const Band& band, const std::vector<OpId>& events, const std::string& name, const Durations& durations) {
  const Plan& plan = *band.pass->plan;
  Table table;
  table.caption =
      fmt::format("{} of {}, from {} to less than {}{}", events.size(), name, duration(durations.begin_ns),
                  duration(durations.end_ns),
                  events.size() > kMostBrushed ? fmt::format("; the longest {} are listed", kMostBrushed) : "");
  table.columns = {text_column("event"),          number_column("op", "", 0),       number_column("rank", "", 0),
                   number_column("begin", "", 0), number_column("duration", "", 0), number_column("ring step", "", 0),
                   number_column("tiles", "", 0)};
  for (std::size_t i = 0; i < std::min(events.size(), kMostBrushed); ++i) {
    const Op& op = plan.ops[static_cast<std::size_t>(events[i])];
    const OpTimes& t = band.times(events[i]);
    table.rows.push_back(
        {{text_cell(name), cell(Hint::kCount, events[i]), cell(Hint::kCount, op.rank), duration_cell(t.begin_ns),
          duration_cell(length(t)),
          cell(Hint::kCount, op.tiles > 0 ? std::optional<double>(plan.post_of(op).ring_step) : std::nullopt),
          cell(Hint::kCount, op.tiles > 0 ? std::optional(static_cast<double>(op.tiles)) : std::nullopt)}});
  }
  return table;
}

}  // namespace

std::vector<OpId> events_of_durations(const Band& band, int name, const std::optional<TimeRange>& time,
                                      const Durations& durations) {
  std::vector<OpId> events;
  for (std::size_t op = 0; op < band.name_of.size(); ++op) {
    const OpTimes& t = band.times(static_cast<OpId>(op));
    const bool outside = time && (t.end_ns <= time->begin_ns || t.begin_ns >= time->end_ns);
    if (band.name_of[op] == name && !outside && length(t) >= durations.begin_ns && length(t) < durations.end_ns)
      events.push_back(static_cast<OpId>(op));
  }
  std::ranges::sort(events, {}, [&](OpId op) { return std::pair(-length(band.times(op)), op); });
  return events;
}

Durations slowest_tenth(const DurationStatistics& statistics) {
  return {duration_bin_begin_ns(duration_bin(statistics.p90_ns)), statistics.histogram.back().end_ns};
}

void DurationBrush::clear() {
  durations_.reset();
  found_durations_.reset();
  held_at_ = -1;
  events_.clear();
  by_time_.clear();
}

void DurationBrush::drag(Ui& ui, const Rect& area, const DurationStatistics& statistics) {
  const auto& bins = statistics.histogram;
  const Hit hit =
      ui.target("histogram", area, {.kind = "area", .tooltip = "Drag to select events by how long they take"});
  const float step = area.width() / static_cast<float>(bins.size());
  const auto bin_at = [&](float x) {
    return std::clamp(static_cast<int>((x - area.left) / step), 0, static_cast<int>(bins.size()) - 1);
  };
  const float x = ImGui::GetMousePos().x;
  if (hit.held && held_at_ < 0 && hit.dragged) held_at_ = bin_at(x - ImGui::GetMouseDragDelta(0, 0).x);
  if (hit.held && held_at_ >= 0) {
    const auto [low, high] = std::minmax({held_at_, bin_at(x)});  // values: of two it gives references
    durations_ = Durations{bins[static_cast<std::size_t>(low)].begin_ns, bins[static_cast<std::size_t>(high)].end_ns};
  }
  if (!hit.held && held_at_ < 0 && hit.clicked) clear();
  if (!durations_) return;
  const auto x_of = [&](std::int64_t ns, float otherwise) {
    for (std::size_t i = 0; i < bins.size(); ++i)
      if (bins[i].begin_ns >= ns) return area.left + static_cast<float>(i) * step;
    return otherwise;
  };
  const Rect brushed{x_of(durations_->begin_ns, area.right), area.top, x_of(durations_->end_ns, area.right),
                     area.bottom};
  ui.fill(brushed, ui.color(Token::kAccent, 0.18F));
  ui.outline(brushed, ui.color(Token::kAccent), 0, std::max(1.F, ui.px(1.5F)));
  ui.mark("brushed", brushed);
}

bool DurationBrush::over(Ui& ui, const Rect& area, const DurationStatistics& statistics, const Band& band,
                         const std::string& key, const std::string& name, const std::optional<TimeRange>& time) {
  if (key != key_ || name != name_ || time != time_) clear();
  key_ = key;
  name_ = name;
  time_ = time;
  drag(ui, area, statistics);
  if (!ImGui::IsMouseDown(ImGuiMouseButton_Left)) held_at_ = -1;
  if (ui.button("slowest", "Slowest tenth", {.tooltip = "Selects the events of the bins from P90 on"}))
    durations_ = slowest_tenth(statistics);
  if (durations_) {
    ui.same_line();
    if (ui.button("clear", "Clear", {.quiet = true})) clear();
  }
  const auto before = found_durations_;
  find(band, time);
  if (active())
    ui.text(fmt::format("{} from {} to less than {}", events_.size(), duration(durations_->begin_ns),
                        duration(durations_->end_ns)),
            {.face = Face::kSmall, .ink = Token::kMuted, .wrap = true});
  return found_durations_ && found_durations_ != before;
}

void DurationBrush::find(const Band& band, const std::optional<TimeRange>& time) {
  if (!active() || (durations_ == found_durations_ && of_ == band.pass->key)) return;
  const auto name = std::ranges::lower_bound(band.names, name_);
  if (name == band.names.end() || *name != name_) return;
  found_durations_ = durations_;
  of_ = band.pass->key;
  events_ = events_of_durations(band, static_cast<int>(name - band.names.begin()), time, *durations_);
  by_time_ = events_;
  const Plan& plan = *band.pass->plan;
  std::ranges::sort(by_time_, {}, [&](OpId op) {
    return std::tuple(plan.ops[static_cast<std::size_t>(op)].rank, band.times(op).begin_ns, op);
  });
  table_ = table_of(band, events_, name_, *durations_);
  state_.selected = -1;
}

void DurationBrush::light(Ui& ui, const TimeAxis& axis, const Band& band, const std::string& key,
                          const std::function<std::optional<std::pair<float, float>>(int rank)>& row) {
  if (!active() || key != key_ || of_ != band.pass->key) return;
  const Plan& plan = *band.pass->plan;
  const Ui::Scope inside = ui.scope("lit");
  int rank = -1, drawn = 0;
  float reached = 0;  // what is drawn of this row
  for (const OpId op : by_time_) {
    const OpTimes& t = band.times(op);
    const float left = std::max(axis.left(), axis.x(static_cast<double>(t.begin_ns)));
    const float right = std::min(axis.left() + axis.width(), axis.x(static_cast<double>(t.end_ns)));
    if (right < axis.left() || left > axis.left() + axis.width()) continue;
    const int of = plan.ops[static_cast<std::size_t>(op)].rank;
    const auto place = row(of);
    if (!place || (of == rank && right < reached + 1) || drawn >= kMostLit) continue;
    rank = of;
    reached = right;
    ++drawn;
    const Rect rect{left, place->first, std::max(right, left + 1), place->second};
    if (rect.width() >= ui.px(5) && rect.height() >= ui.px(8)) {
      ui.outline(rect, ui.color(Token::kInk), 0, ui.px(2));
    } else {
      ui.fill({rect.left, rect.top, rect.right, rect.top + std::max(1.F, ui.px(3))}, ui.color(Token::kInk));
    }
    ui.mark(fmt::format("op {}", op), rect, name_, true);
  }
}

std::optional<OpId> DurationBrush::draw_table(Ui& ui) {
  const TableHit hit = spscope::gui::show_table(ui, "durations", table_, state_);
  return hit.clicked ? std::optional(events_[static_cast<std::size_t>(*hit.clicked)]) : std::nullopt;
}

Json DurationBrush::dump() const {
  Json json = Json::object();
  json["name"] = name_;
  json["begin_ns"] = durations_->begin_ns;
  json["end_ns"] = durations_->end_ns;
  json["ops"] = Json::array();
  for (const OpId op : events_) json["ops"].push_back(static_cast<std::int64_t>(op));
  return json;
}

}  // namespace spscope::gui
