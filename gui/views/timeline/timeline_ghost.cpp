// The ghost of the timeline: below the band of a strategy the schedule that it would have if one thing were otherwise,
// on the same axis, so that time is seen where it would be gained. Hollow and hatched: all of it is modelled.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cstdlib>

#include "backend/base/number_text.h"
#include "gui/views/timeline/facts.h"
#include "gui/views/timeline/timeline_view.h"

namespace spscope::gui {
namespace {

constexpr float kHeadHeight = 34;

std::string why_no_edit(const StrategyExplanation* of) {
  if (of == nullptr) return "This strategy is not among those that can be scheduled anew.";
  if (!of->edits_missing.empty()) return sentence(of->edits_missing);
  return "Nothing of this kind can be changed in this layer pass.";
}

}  // namespace

void TimelineView::take_ghost(Session& session) {
  ghost_.reset();
  const auto& what_if = session.scope().what_if;
  if (!what_if) {
    ghost_slot_.forget();
    ghost_before_.reset();
    return;
  }
  const auto of = std::ranges::find(shown_, what_if->strategy,
                                    [](const Shown& shown) -> const StrategyKey& { return shown.chosen.key; });
  if (of == shown_.end() || !of->problem.empty()) return;
  ShownGhost ghost;
  Shown& shown = ghost.shown;
  shown.chosen = of->chosen;
  shown.ghost = true;
  Session::ExplanationSlot& all = session.explanation(of->chosen);
  const auto data = session.pass_data(of->chosen).share();
  ghost.asked = &all;
  if (const Error* error = all.error()) {
    shown.problem = sentence(error->what());
  } else if (data && all.current()) {
    const auto explained = all.share();
    const StrategyExplanation* e = find_explained(*explained, of->chosen.key.id);
    if (e != nullptr)
      for (const EditResult& result : e->edits) ghost.edits.push_back(result.edit);
    const auto edit = std::ranges::find(ghost.edits, what_if->edit, &TimeEdit::kind);
    if (edit == ghost.edits.end() || e->repeat != data->repeat.repeat) {
      shown.problem = why_no_edit(e);
    } else {
      const EditResult* result = &e->edits[static_cast<std::size_t>(edit - ghost.edits.begin())];
      ghost_slot_.ask(session.workers(), data->key + "\n" + time_edit_key(*edit),
                      [data, explained, result](Readers&, const Cancelled&, QueryProgress&) {
                        return make_ghost_band(data, *result);
                      });
      shown.reads = !ghost_slot_.current();
      shown.old = is_slow(ghost_slot_);
    }
  } else {
    shown.reads = true;
    shown.old = is_slow(all);
  }
  if (shown.problem.empty()) {
    // That of the edit before stays until this one is there, not that of another strategy.
    ghost.answer = ghost_slot_.share();
    if (ghost.answer && ghost.answer->band->pass->run.strategy_id != of->chosen.strategy->strategy_id)
      ghost.answer.reset();
    if (ghost.answer) shown.band = ghost.answer->band;
  }
  ghost_ = std::move(ghost);
}

void TimelineView::look_at_ghost(Ui& ui, Session& session, float band_top) {
  constexpr float kFar = 0.7F;  // of the pane
  const auto is_there = [](const Shown& shown) { return !shown.reads; };
  if (ghost_before_ == session.scope().what_if || ghost_->shown.reads || !std::ranges::all_of(shown_, is_there)) return;
  ghost_before_ = session.scope().what_if;
  const float top = ImGui::GetCursorScreenPos().y, pane_top = ImGui::GetWindowPos().y;
  const bool far = top - band_top > kFar * ImGui::GetWindowHeight();
  ImGui::SetScrollFromPosY((far ? top : band_top) - pane_top, far ? 0.5F : 0);
  ui.again();
}

void TimelineView::draw_ghost_head(Ui& ui, Session& session) {
  const ImVec2 from = ImGui::GetCursorScreenPos();
  const float left = time_.axis.left(), right = left + time_.axis.width(), height = ui.px(kHeadHeight);
  ui.fill({from.x, from.y, right, from.y + height}, ui.color(Token::kRaised));
  const std::optional<Rgb> behind = ui.theme().color(Token::kRaised);
  const float base = from.y + (height - ui.line_height(Face::kBody)) / 2;
  ui.text_at(from.x + ui.px(6), base, "what if", {.face = Face::kBold, .max_width = left - from.x - ui.px(10)}, behind);
  const WhatIf& now = *session.scope().what_if;
  const bool narrow = time_.axis.width() < ui.px(200);
  const float control = from.y + (height - ui.theme().control()) / 2, remove = ui.px(narrow ? 30 : 90);
  float x = left + ui.px(4);
  Scope scope = session.scope();
  if (!ghost_->edits.empty()) {
    std::vector<std::string> texts;
    for (const TimeEdit& edit : ghost_->edits) texts.push_back(time_edit_text(edit));
    const auto chosen = std::ranges::find(ghost_->edits, now.edit, &TimeEdit::kind);
    int index = chosen != ghost_->edits.end() ? static_cast<int>(chosen - ghost_->edits.begin()) : -1;
    const float width = std::min(ui.px(290), time_.axis.width() * 0.4F);
    ImGui::SetCursorScreenPos({x, control});
    if (ui.choice("edit", texts, index, width, "What is otherwise in the schedule below"))
      scope.what_if->edit = ghost_->edits[static_cast<std::size_t>(index)].kind;
    x += width + ui.px(10);
  }
  std::string words = ghost_->shown.problem;
  if (words.empty())
    words = ghost_->answer && !ghost_->shown.reads ? "modelled: " + ghost_makespan_words(*ghost_->answer)
                                                   : "scheduling the denoise step anew";
  ui.text_at(x, base, words, {.ink = Token::kMuted, .max_width = right - remove - ui.px(16) - x}, behind);
  ImGui::SetCursorScreenPos({right - remove - ui.px(6), control});
  if (ui.button("remove", narrow ? "×" : "Remove",
                {.quiet = true, .tooltip = "Without this schedule", .width = remove}))
    scope.what_if.reset();
  ImGui::SetCursorScreenPos(from);
  ImGui::Dummy({right - from.x, height});
  session.set_scope(std::move(scope));
}

// What the edit gains: from where the makespan would end to where it ended.
void TimelineView::draw_gain(Ui& ui, float top, float bottom) {
  const GhostBand& ghost = *ghost_->answer;
  if (ghost.change_ns == 0) return;
  const TimeAxis& axis = time_.axis;
  const float right = axis.left() + axis.width();
  const float end = axis.x(static_cast<double>(ghost.band->makespan_ns)),
              was = axis.x(static_cast<double>(ghost.unchanged_ns));
  if (was > axis.left() && was < right)
    for (float y = top; y < bottom; y += ui.px(7))
      ui.fill({was, y, was + std::max(1.F, ui.px(1)), std::min(y + ui.px(4), bottom)}, ui.color(Token::kInk, 0.7F));
  const Rect gain{std::max(axis.left(), std::min(end, was)), top, std::min(right, std::max(end, was)), bottom};
  if (gain.empty()) return;
  ui.fill(gain, ui.color(Token::kAccent, 0.12F));
  ui.mark("change", gain, fmt::format("{}", ghost.change_ns));
  const std::string words = fmt::format("{}{}", ghost.change_ns < 0 ? "−" : "+", duration(std::abs(ghost.change_ns)));
  const float width = ui.text_width(words, Face::kSmall) + ui.px(8), line = ui.line_height(Face::kSmall);
  const float x = gain.width() >= width ? (gain.left + gain.right - width) / 2 + ui.px(4) : gain.right + ui.px(4);
  if (ghost.change_ns < 0 && x + width < right && bottom - top > line)
    ui.text_at(x, (top + bottom - line) / 2, words, {.face = Face::kSmall, .max_width = width});
}

void TimelineView::draw_ghost(Ui& ui, Session& session, const Shown& stored) {
  const Ui::Scope inside = ui.scope("ghost " + name_of(stored.chosen.key));
  draw_ghost_head(ui, session);
  draw_loading(ui, "loading", *ghost_->asked, "Scheduling the denoise step anew");
  const Shown& shown = ghost_->shown;
  if (shown.band != nullptr && stored.band != nullptr) {
    // In the order of the band above, so that each row has its own below.
    std::vector<const BandRow*> rows;
    for (const BandRow* row : rows_of(stored))
      if (static_cast<std::size_t>(row->rank) < shown.band->ranks.size())
        rows.push_back(&shown.band->ranks[static_cast<std::size_t>(row->rank)]);
    const float top = ImGui::GetCursorScreenPos().y;
    draw_rows(ui, session, shown, rows);
    draw_gain(ui, top, ImGui::GetCursorScreenPos().y);
  }
  ImGui::Dummy({0, ui.px(8)});
}

std::string TimelineView::ghost_words(OpId op, bool stored) const {
  const GhostBand& ghost = *ghost_->answer;
  const OpTimes& t = stored ? ghost.stored->timeline->ops[static_cast<std::size_t>(op)] : ghost.band->times(op);
  return fmt::format("{} from {}", duration(t.end_ns - t.begin_ns), time_text(t.begin_ns));
}

Json TimelineView::dump_ghost(const Selection& selection) const {
  const GhostBand& ghost = *ghost_->answer;
  Json json = Json::object();
  json["edit"] = time_edit_key(ghost.edit);
  json["rank"] = ghost.edit.kind == TimeEditKind::kRankAsMean ? Json(ghost.edit.rank) : Json();
  json["source"] = source_name(Source::kModelled);
  json["makespan_ns"] = ghost.band->makespan_ns;
  json["change_ns"] = ghost.change_ns;
  json["unchanged_ns"] = ghost.unchanged_ns;
  json["begin_ns"] = ghost.band->begin_ns;
  json["end_ns"] = ghost.band->end_ns;
  json["ranks"] = dump_ranks(*ghost.band);
  if (const auto& op = selection.op; op && selection.strategy == ghost_->shown.chosen.key &&
                                     static_cast<std::size_t>(*op) < ghost.band->name_of.size()) {
    const auto times = [](const OpTimes& t) {
      return Json{{"post_ns", t.post_ns}, {"begin_ns", t.begin_ns}, {"end_ns", t.end_ns}};
    };
    json["selected"] = {{"op", *op},
                        {"stored", times(ghost.stored->timeline->ops[static_cast<std::size_t>(*op)])},
                        {"modelled", times(ghost.band->times(*op))}};
  }
  return json;
}

}  // namespace spscope::gui
