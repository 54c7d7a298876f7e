#include "gui/views/view.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <array>

#include "backend/analysis/slowest_pass.h"
#include "backend/base/number_text.h"
#include "backend/record/collector_texts.h"
#include "backend/report/headline.h"

namespace spscope::gui {

#define VIEW(id, title, needs_file) std::unique_ptr<View> make_##id##_view();
#include "gui/views/views.def"
#undef VIEW

namespace {

constexpr auto kViewRows = std::to_array<ViewRow>({
#define VIEW(id, title, needs_file) {#id, title, make_##id##_view, needs_file},
#include "gui/views/views.def"
#undef VIEW
});

}  // namespace

std::span<const ViewRow> view_rows() { return kViewRows; }

const ViewRow* find_view(std::string_view id) {
  const auto found = std::ranges::find(kViewRows, id, &ViewRow::id);
  return found == kViewRows.end() ? nullptr : &*found;
}

void draw_error(Ui& ui, std::string_view name, const Error& error) {
  const Ui::Scope inside = ui.scope(name);
  std::string words = fmt::format("{}: {}", error_id(error.code()), sentence(error.what()));
  if (!error.hint().empty()) words += " " + sentence(error.hint());
  if (ui.banner("error", BannerTone::kError, words, "Copy")) ImGui::SetClipboardText(render(error).c_str());
}

void flow(Ui& ui, float design) {
  ui.same_line();
  if (ui.width_left() < ui.px(design)) ImGui::NewLine();
}

namespace {

// Hints are given anew for other files.
std::string hint_name(const Session& session, std::string_view id) {
  std::string name(id);
  for (const auto& file : session.files()) name += " " + file->path;
  return name;
}

}  // namespace

bool took_hint(const Session& session, std::string_view id) {
  const std::vector<std::string>& used = session.settings().used_hints;
  return std::ranges::find(used, hint_name(session, id)) != used.end();
}
void take_hint(Session& session, std::string_view id) {
  constexpr std::size_t kMostKept = 100;
  if (took_hint(session, id)) return;
  std::vector<std::string>& used = session.settings().used_hints;
  if (used.size() >= kMostKept) used.erase(used.begin());
  used.push_back(hint_name(session, id));
}
bool draw_hint(Ui& ui, Session& session, std::string_view id, std::string_view words, std::string_view action) {
  if (took_hint(session, id) || !ui.banner("hint", BannerTone::kNote, words, action)) return false;
  take_hint(session, id);
  return true;
}

std::string lost_text(const Observation& observation) {
  CollectorSum sum = sum_of(observation.collectors);
  // The ledger of the tracks has what collectors lost, and what was lost behind them.
  sum.cost.dropped = std::max(sum.cost.dropped, observation.recording.events_missing());
  return lost_text(sum);
}

std::string lost_events_text(const Observation& observation) {
  const std::string missing = missing_events_text(observation.recording);
  const std::int64_t count = observation.recording.events_missing();
  std::vector<CollectorSum> sums = sums_of(observation.collectors);
  std::erase_if(sums, [](const CollectorSum& sum) { return sum.cut_off == 0 && sum.cost.dropped == 0; });
  if (sums.size() == 1 && sums.front().cut_off == 0 && sums.front().cost.dropped == count)
    return fmt::format("{}, all by {}", missing, sums.front().name);
  std::string by;
  for (const CollectorSum& sum : sums) {
    if (!by.empty()) by += ", ";
    by += knows_lost(sum) ? fmt::format("{} lost {}", sum.name, lost_text(sum))
                          : fmt::format("what {} lost is not known", sum.name);
  }
  return missing + (missing.empty() || by.empty() ? "" : "; ") + by;
}

std::string key_tip(const Ui& ui, std::string_view words, Command command) {
  const std::string_view keys = ui.keys(static_cast<std::size_t>(command));
  return keys.empty() ? std::string(words) : fmt::format("{} ({})", words, keys);
}

std::optional<LayerPass> slowest_pass_of(const StrategyResult& strategy) {
  const StrategyResult* alone = &strategy;
  const auto slowest = slowest_pass({&alone, 1});
  return slowest ? std::optional(LayerPass{slowest->layer, slowest->denoise_step}) : std::nullopt;
}

void keep_pass_of(const Session& session, const StrategyResult& strategy, Scope& scope) {
  const auto now = session.pass();
  if (now && has_run(strategy, *now)) return;
  if (const auto slowest = slowest_pass_of(strategy)) {
    scope.layer = slowest->layer;
    scope.step = slowest->step;
  }
}

namespace {

// Whether a file of the scope is of a program that nobody planned.
bool is_observed(const Session& session) {
  for (std::size_t i = 0; i < session.files().size(); ++i)
    if (const FileContent* content = session.files()[i]->content();
        content != nullptr && session.in_scope(static_cast<int>(i)) && !content->observed.empty())
      return true;
  return false;
}

// Views that need no strategy are drawn, of the timeline that of whole files.
bool draw_observed(Ui& ui, Session& session) {
  if (session.view() == "overview" || session.view() == "report" || session.view() == "sql") return false;
  if (session.view() != "timeline") {
    if (ui.empty_state("observed", "A program that was observed has no strategies to compare.", "Show its timeline"))
      session.show("timeline");
    return true;
  }
  if (!session.scope().whole_file) {
    Scope scope = session.scope();
    scope.whole_file = true;
    session.set_scope(std::move(scope));
  }
  return false;
}

}  // namespace

bool draw_instead(Ui& ui, Session& session) {
  if (session.files().empty()) {
    if (ui.empty_state("no file", "No file is open. Open the results of a run, or start one.", "Go to Start"))
      session.show("start");
    return true;
  }
  bool ready = false;
  for (std::size_t i = 0; i < session.files().size(); ++i) {
    if (!session.in_scope(static_cast<int>(i))) continue;
    const OpenFile& file = *session.files()[i];
    const Ui::Scope inside = ui.scope(file.name);
    ready |= file.content() != nullptr;
    if (file.state() == FileState::kGivenUp) {
      if (ui.banner("given up", BannerTone::kNote, file.name + " was not read to its end.", "Read it"))
        session.reload(static_cast<int>(i));
    } else if (const Error* error = file.error()) {
      draw_error(ui, "failed", *error);
      if (ui.button("close", "Close " + file.name)) {
        session.close(static_cast<int>(i));
        return true;
      }
    } else if (file.content() == nullptr) {
      draw_loading(ui, "loading", *file.slot, "Reading " + file.name);
    }
  }
  if (!ready) return true;
  if (!session.chosen().empty()) return false;
  if (is_observed(session)) return draw_observed(ui, session);
  const std::vector<Chosen> all = session.all_strategies();
  if (std::ranges::none_of(all, [&](const Chosen& c) { return session.in_scope(c.key.file); })) {
    ui.empty_state("no strategies", "The file holds no strategies: its run ended before the first one was planned.");
  } else if (ui.empty_state("none chosen", "None of the chosen strategies can run. Choose others in the line above.",
                            "Show all strategies")) {
    Scope scope = session.scope();
    scope.strategies.clear();
    session.set_scope(scope);
  }
  return true;
}

}  // namespace spscope::gui
