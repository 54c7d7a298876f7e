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

}  // namespace

void TimelineView::take_ghost(Session& session) {
  ghost_.reset();
  const auto& what_if = session.scope().what_if;
  if (!what_if) ghost_before_.reset();
  const auto of = std::ranges::find_if(
      shown_, [&](const Shown& shown) { return what_if && shown.chosen.key == what_if->strategy; });
  if (of == shown_.end() || !of->problem.empty()) return ghost_slot_.forget();
  ShownGhost ghost;
  Shown& shown = ghost.shown;
  shown.chosen = of->chosen;
  shown.ghost = true;
  const OpenFile& file = *of->chosen.file;
  const auto data = session.pass_data(of->chosen).share();
  if (data && file.slot->current()) {
    ghost_slot_.ask(
        session.workers(), data->key + "\n" + time_edit_key({what_if->edit}),
        [data, content = file.slot->share(), path = file.path, generation = file.generation, id = of->chosen.key.id,
         edit = what_if->edit](Readers& readers, const Cancelled& cancelled, QueryProgress&) {
          ExplainRequest request;
          request.layer = data->run.layer;
          request.denoise_step = data->run.denoise_step;
          request.repeat = data->repeat.repeat;
          request.strategies = {id};
          request.cancelled = cancelled;
          return make_ghost_band(data, explain_edit(readers.of(path, generation), content->comparisons, request, edit),
                                 edit);
        });
  } else {
    ghost_slot_.forget();  // of another layer pass, or of what the file was before
  }
  shown.reads = !ghost_slot_.current();
  shown.old = is_slow(ghost_slot_);
  if (const Error* error = ghost_slot_.error()) shown.problem = sentence(error->what());
  if (ghost_slot_.was_cancelled()) shown.problem = "Given up. Remove it and choose it again to have it scheduled.";
  if (!shown.problem.empty()) shown.reads = false;
  // That of the edit before stays until this one is there, not that of another strategy or file.
  if (const auto answer = ghost_slot_.share(); answer && data && answer->is_of(*data)) {
    ghost.edits = answer->edits;
    if (!shown.reads && shown.problem.empty()) shown.problem = answer->problem;
    if (shown.problem.empty() && answer->band) {
      ghost.answer = answer;
      shown.band = answer->band;
    }
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
    if (ui.choice("edit", texts, index, width, "What is changed in the schedule below"))
      scope.what_if->edit = ghost_->edits[static_cast<std::size_t>(index)].kind;
    x += width + ui.px(10);
  }
  std::string words = ghost_->shown.problem;
  if (words.empty())
    words = ghost_->answer && !ghost_->shown.reads ? "modelled: " + ghost_makespan_words(*ghost_->answer)
                                                   : "scheduling the layer pass again";
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
  draw_loading(ui, "loading", ghost_slot_, "Scheduling the layer pass again");
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
  return fmt::format("{} from {}", duration(t.end_ns - t.begin_ns), duration(t.begin_ns));
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
