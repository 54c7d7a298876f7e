#include "gui/views/timeline/timeline_view.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "backend/analysis/reason.h"
#include "backend/base/number_text.h"
#include "backend/report/section.h"
#include "gui/views/timeline/band_order.h"

namespace spscope::gui {
namespace {

// Of those that have a timeline.
std::optional<int> nearest_repeat(const PassData& pass) {
  const auto distance = [&](int repeat) { return std::pair(std::abs(repeat - pass.repeat.repeat), repeat); };
  const auto nearest = std::ranges::min_element(pass.repeats_with_timeline, {}, distance);
  return nearest != pass.repeats_with_timeline.end() ? std::optional(*nearest) : std::nullopt;
}

}  // namespace

void TimelineView::take_bands(Session& session) {
  shown_.clear();
  elsewhere_.clear();
  // Of files that were closed.
  std::erase_if(slots_, [&](const auto& slot) {
    return std::ranges::none_of(session.files(), [&](const auto& file) { return file->path == slot.first.first; });
  });
  std::int64_t first = 0, extent = 0;
  const auto pass_now = session.pass();
  std::vector<Chosen> all = session.chosen();
  order_bands(all);
  for (Chosen& chosen : all) {
    if (pass_now && !has_run(*chosen.strategy, *pass_now)) {
      elsewhere_.push_back(std::move(chosen));
      continue;
    }
    Shown shown;
    Session::PassSlot& pass = session.pass_data(chosen);
    const auto data = pass.share();
    auto& slot = slots_[{chosen.file->path, chosen.key.id}];
    if (!slot) slot = std::make_unique<QuerySlot<Band>>();
    if (const Error* error = pass.error()) {
      shown.problem = sentence(error->what());
    } else if (data && !data->timeline) {
      shown.problem = sentence(data->why_no_timeline);
      shown.other_repeat = nearest_repeat(*data);
    } else {
      if (data)
        slot->ask(session.workers(), data->key,
                  [data](Readers&, const Cancelled&, QueryProgress&) { return make_band(data); });
      // The rows of the layer pass before stay until those of this one are there.
      shown.band = slot->share();
      shown.old = is_slow(pass) || (data && is_slow(*slot));
      shown.reads = !data || !slot->current();
    }
    if (shown.band != nullptr) {
      first = std::min(first, shown.band->begin_ns);
      extent = std::max(extent, shown.band->end_ns);
    }
    shown.chosen = std::move(chosen);
    shown_.push_back(std::move(shown));
  }
  take_ghost(session);
  if (ghost_ && ghost_->shown.band != nullptr) {
    first = std::min(first, ghost_->shown.band->begin_ns);
    extent = std::max(extent, ghost_->shown.band->end_ns);
  }
  if (extent > 0) time_.axis.set_extent(first, extent);
  const bool all_there = std::ranges::all_of(shown_, [](const Shown& s) { return !s.reads; });
  if (!fitted_ && all_there && extent > 0) {
    fitted_ = true;
    if (const auto& time = session.selection().time)
      time_.axis.show(static_cast<double>(time->begin_ns), static_cast<double>(time->end_ns));
  }
}

const TimelineView::Shown* TimelineView::shown_of(const Selection& selection) const {
  for (const Shown& shown : shown_)
    if (shown.band != nullptr && (!selection.strategy || shown.chosen.key == *selection.strategy)) return &shown;
  return nullptr;
}

std::vector<const BandRow*> TimelineView::rows_of(const Shown& shown) const {
  std::vector<const BandRow*> rows;
  const std::vector<int>& nodes = shown.chosen.strategy->rank_map;
  const auto node_of = [&](int rank) {
    return static_cast<std::size_t>(rank) < nodes.size() ? nodes[static_cast<std::size_t>(rank)] : -1;
  };
  for (const BandRow& row : shown.band->ranks)
    if (rows_.filter.filter().holds(row.rank, node_of(row.rank))) rows.push_back(&row);
  const RankTimes& times = shown.band->pass->times;
  const auto key = [&](const BandRow* row) {
    const auto rank = static_cast<std::size_t>(row->rank);
    const bool pinned = pinned_.contains({shown.chosen.key, row->rank});
    std::int64_t by = row->rank;
    if (rows_.order == RowOrder::kCompute) by = -times.compute_ns[rank];
    if (rows_.order == RowOrder::kWait) by = -times.wait_late_peer_ns[rank];
    if (rows_.order == RowOrder::kNode) by = node_of(row->rank);
    return std::tuple(!pinned, by, row->rank);
  };
  std::ranges::stable_sort(rows, {}, key);
  return rows;
}

void TimelineView::draw(Ui& ui, Session& session) {
  if (session.scope().whole_file) return file_.draw(ui, session);
  take_bands(session);
  draw_next_step(ui, session);
  toolbar(ui, session);
  hovered_.reset();
  pointed_.reset();
  spans_drawn_ = 0;
  time_.place(ui, ui.px(TimeArea::kGutter));
  time_.minimap(ui, [&](const Rect& rect) { paint_minimap(ui, rect); });
  time_.ruler(ui);
  ui.pane("bands", {.height = ui.height_left(), .back = Token::kSurface, .padded = false}, [&] {
    std::vector<StrategyKey> now;
    for (const Shown& shown : shown_) now.push_back(shown.chosen.key);
    // Other bands are looked at from their top.
    if (now != shown_before_) {
      ImGui::SetScrollY(0);
      ui.again();
    }
    shown_before_ = std::move(now);
    const ImVec2 top = ImGui::GetCursorScreenPos();
    const Rect area{time_.axis.left(), ui.clip().top, time_.axis.left() + time_.axis.width(), ui.clip().bottom};
    // Rows stand where they stood in the frame before.
    time_.take_pointer(ui, session, area, [&](std::int64_t ns, std::int64_t most) {
      const float y = ImGui::GetMousePos().y;
      const auto row = std::ranges::find_if(
          drawn_, [y](const auto& drawn) { return drawn.second.top <= y && y < drawn.second.bottom; });
      return row != drawn_.end() ? nearest_edge(row->second.row->spans, ns, most) : ns;
    });
    drawn_.clear();
    ImGui::SetCursorScreenPos(top);
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(0, 0));
    for (Shown& shown : shown_) {
      const float band_top = ImGui::GetCursorScreenPos().y;
      draw_band(ui, session, shown);
      look_at_selected(ui, session, shown, band_top);
      if (!has_ghost(shown)) continue;
      look_at_ghost(ui, session, band_top);
      draw_ghost(ui, session, shown);
    }
    draw_elsewhere(ui, session);
    ImGui::PopStyleVar();
    ImGui::PushClipRect({area.left, area.top}, {area.right, area.bottom}, true);
    for (const Shown& shown : shown_) {
      if (shown.band == nullptr) continue;
      if (path_) draw_path(ui, shown);
      draw_links(ui, shown, session.selection());
      brush_.light(ui, time_.axis, *shown.band, key_of(shown), [&](int rank) -> std::optional<std::pair<float, float>> {
        const auto row = drawn_.find(row_key(shown, rank));
        return row != drawn_.end() ? std::optional(std::pair(row->second.top, row->second.bottom)) : std::nullopt;
      });
    }
    if (path_ && ghost_ && ghost_->shown.band != nullptr) draw_path(ui, ghost_->shown);
    draw_dimmed(ui);
    time_.draw_marks(ui, area, session.selection().time);
    ImGui::PopClipRect();
  });
  if (hovered_) op_tip(ui, *hovered_->first, hovered_->second);
}

void TimelineView::look_at_selected(Ui& ui, const Session& session, const Shown& shown, float band_top) {
  const Selection& s = session.selection();
  if (!s.strategy || !s.rank) {
    looked_at_.reset();
    return;
  }
  const std::pair selected{*s.strategy, *s.rank};
  const auto row = drawn_.find(row_key(shown, *s.rank));
  // Bands above that are still read will be taller.
  const auto reads = [](const Shown& each) { return each.reads; };
  if (looked_at_ == selected || shown.chosen.key != *s.strategy || row == drawn_.end() ||
      std::ranges::any_of(shown_, reads))
    return;
  looked_at_ = selected;
  const auto [top, bottom] = std::pair(row->second.top, row->second.bottom);
  if (top >= ui.clip().top && bottom <= ui.clip().bottom) return;
  const float pane_top = ImGui::GetWindowPos().y;
  const bool fits = bottom - band_top <= ImGui::GetWindowHeight();
  ImGui::SetScrollFromPosY((fits ? band_top : (top + bottom) / 2) - pane_top, fits ? 0 : 0.5F);
  ui.again();
}

void TimelineView::show_heads(Session& session) {
  take_hint(session, "timeline");
  Link link = session.here();
  link.view = "heads";
  link.selection.op.reset();
  session.go(link);
}

// For somebody whom the hint of the overview has led to the late rank.
void TimelineView::draw_next_step(Ui& ui, Session& session) {
  const Selection& s = session.selection();
  if (!took_hint(session, "overview") || !s.strategy || !s.rank) return;
  const auto chosen = session.find(*s.strategy);
  const auto late = chosen ? late_rank(*chosen->strategy) : std::nullopt;
  if (!late || late->rank != *s.rank) return;
  const std::string words = fmt::format("Next: see which heads make rank {} of {} late.", late->rank, chosen->label);
  if (draw_hint(ui, session, "timeline", words, "Why?")) show_heads(session);
}

void TimelineView::toolbar(Ui& ui, Session& session) {
  const bool narrow = time_.begin_toolbar(ui);
  draw_time_mode(ui, session);
  flow(ui, 190);
  time_.buttons(ui);
  flow(ui, narrow ? 60 : 102);
  ui.checkbox("critical path", narrow ? "Path" : "Critical path", path_,
              "The chain of operations that sets the makespan");
  flow(ui, 108);
  rows_.draw(ui);
  if (!time_.is_tiny() || focus_find_ || !find_.empty()) find_field(ui, session);
  time_.time_field(ui);
  bool loading = false;
  for (const Shown& shown : shown_) loading |= shown.reads;
  if (loading) {
    ui.same_line();
    ui.text("loading", {.face = Face::kSmall, .ink = Token::kMuted, .beside = true});
  }
}

void TimelineView::find_field(Ui& ui, Session& session) {
  const float width = TimeArea::flow_to_find(ui);
  const std::string hint = key_tip(ui, "Find", Command::kFind);
  if (ui.field("find", find_, {.width = width, .hint = hint, .focus = std::exchange(focus_find_, false)})) {
    Selection s = session.selection();
    s.name.clear();
    for (const Shown& shown : shown_)
      if (shown.band != nullptr && !find_.empty())
        for (const std::string& name : shown.band->names)
          if (s.name.empty() && name.find(find_) != std::string::npos) s.name = name;
    session.select(s);
    if (!s.name.empty()) tab_ = 0;
    if (!find_.empty()) session.settings().table = true;
  }
}

void TimelineView::select_op(Session& session, const Shown& shown, OpId op) {
  Selection s = session.selection();
  s.strategy = shown.chosen.key;
  s.rank = shown.band->pass->plan->ops[static_cast<std::size_t>(op)].rank;
  s.op = op;
  s.name = shown.band->name(op);
  session.select(s);
}

void TimelineView::step_event(Session& session, int direction, bool same_name) {
  const Selection& s = session.selection();
  const Shown* shown = shown_of(s);
  if (shown == nullptr || !s.op) return;
  const Plan& plan = *shown->band->pass->plan;
  const auto now = static_cast<std::size_t>(*s.op);
  if (now >= plan.ops.size()) return;
  const int rank = plan.ops[now].rank;
  const std::vector<TimeSpan>& spans = shown->band->ranks[static_cast<std::size_t>(rank)].spans;
  auto place = std::ranges::find(spans, *s.op, &TimeSpan::op);
  if (place == spans.end()) return;
  for (auto i = place - spans.begin() + direction; i >= 0 && i < std::ssize(spans); i += direction) {
    const OpId op = spans[static_cast<std::size_t>(i)].op;
    if (op == *s.op || (same_name && shown->band->name(op) != s.name)) continue;
    select_op(session, *shown, op);
    return;
  }
}

void TimelineView::step_rank(Session& session, int direction) {
  const Selection& s = session.selection();
  const Shown* shown = shown_of(s);
  if (shown == nullptr || !s.op) return;
  const Plan& plan = *shown->band->pass->plan;
  if (static_cast<std::size_t>(*s.op) >= plan.ops.size()) return;
  const Op& op = plan.ops[static_cast<std::size_t>(*s.op)];
  for (int rank = op.rank + direction; rank >= 0 && rank < plan.ranks; rank += direction)
    if (const OpId twin = shown->band->op_of(op.post, rank); twin != kNone) {
      select_op(session, *shown, twin);
      return;
    }
}

void TimelineView::fit(const Selection& s, bool toggles) {
  std::optional<TimeRange> range = s.time;
  const Shown* shown = shown_of(s);
  if (!range && s.op && shown != nullptr && static_cast<std::size_t>(*s.op) < shown->band->name_of.size())
    range = TimeRange{shown->band->times(*s.op).post_ns, shown->band->times(*s.op).end_ns};
  time_.fit(range, toggles);
}

bool TimelineView::run(Command command, Ui&, Session& session) {
  const Selection& s = session.selection();
  if (command == Command::kBookmark) {
    bookmark(session);
    return true;
  }
  if (session.scope().whole_file) return file_.run(command, session);
  if (time_.run(command)) return true;
  switch (command) {
    case Command::kZoomSelection:
    case Command::kFitSelection:
      fit(s, command == Command::kFitSelection);
      return true;
    case Command::kPreviousEvent:
    case Command::kNextEvent:
      step_event(session, command == Command::kNextEvent ? 1 : -1, false);
      return true;
    case Command::kPreviousSame:
    case Command::kNextSame:
      step_event(session, command == Command::kNextSame ? 1 : -1, true);
      return true;
    case Command::kPreviousRank:
    case Command::kNextRank:
      step_rank(session, command == Command::kNextRank ? 1 : -1);
      return true;
    case Command::kPin:
      if (s.strategy && s.rank) {
        const std::pair key{*s.strategy, *s.rank};
        if (pinned_.erase(key) == 0) pinned_.insert(key);
      }
      return true;
    case Command::kFind:
      focus_find_ = true;
      return true;
    default:
      return false;
  }
}

void TimelineView::forget(int closed_file) {
  for (auto* rows : {&unfolded_, &pinned_}) {
    std::set<std::pair<StrategyKey, int>> left;
    for (auto [key, rank] : *rows)
      if (outlives(key, closed_file)) left.insert({key, rank});
    *rows = std::move(left);
  }
  listed_ = {};
  names_.forget();
  ghost_slot_.forget();
}

std::unique_ptr<View> make_timeline_view() { return std::make_unique<TimelineView>(); }

}  // namespace spscope::gui
