// The top line: tabs of files, and the scope that all views share.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <set>

#include "gui/app/app.h"

namespace spscope::gui {
namespace {

constexpr float kTopHeight = 44;

// The values of one part of the layer pass as a choice: "slowest" first.
// `now`: what is looked at.
struct PassChoice {
  std::vector<std::string> texts;
  std::vector<std::optional<int>> values;
  int index = 0;
};
PassChoice pass_choice(const std::set<int>& all, std::optional<int> chosen, int slowest, int now,
                       std::string_view what) {
  PassChoice choice;
  choice.texts.push_back(fmt::format("{} {} (slowest)", what, slowest));
  choice.values.emplace_back();
  for (const int value : all) {
    if ((chosen == value || now != slowest) && now == value) choice.index = static_cast<int>(choice.values.size());
    choice.texts.push_back(fmt::format("{} {}", what, value));
    choice.values.emplace_back(value);
  }
  return choice;
}

}  // namespace

void App::top_line(Ui& ui) {
  const Ui::Scope inside = ui.scope("top");
  ui.pane("line",
          {.width = ui.width_left(), .height = ui.px(kTopHeight), .back = Token::kRail, .padded = false, .fixed = true},
          [&] {
            ImGui::SetCursorPos({ui.px(8), ui.px(8)});
            ImGui::BeginGroup();
            file_tabs(ui);
            if (!session_.all_strategies().empty()) scope_line(ui);
            ImGui::EndGroup();
          });
}

void App::file_tabs(Ui& ui) {
  const auto& files = session_.files();
  int closed = -1;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const Ui::Scope inside = ui.scope(fmt::format("file {}", i));
    const float width = std::min(ui.text_width(shown(files[i]->name)) + ui.px(26), ui.px(190));
    const std::string tip = files[i]->path;
    // With several files a tab looks at its file alone, in the view that is shown.
    const bool only = files.size() > 1 && session_.scope().file == static_cast<int>(i);
    if (ui.button("tab", files[i]->name, {.selected = only, .tooltip = tip, .width = width})) {
      const ViewRow* row = find_view(session_.view());
      if (files.size() > 1) session_.look_at(static_cast<int>(i));
      if (files.size() < 2 || row == nullptr || !row->needs_file) session_.show("overview");
    }
    ui.same_line(2);
    if (ui.button("close", "×", {.quiet = true, .tooltip = "Close this file"})) closed = static_cast<int>(i);
    ui.same_line(6);
  }
  if (closed >= 0) session_.close(closed);
  if (files.size() > 1) {
    if (ui.button("all files", "All files",
                  {.selected = !session_.scope().file, .tooltip = "What all open files hold, side by side"}))
      session_.look_at(std::nullopt);
    ui.same_line(6);
  }
  if (ui.button("open", "+", {.tooltip = "Open another file, or start a run"})) session_.show("start");
  ui.same_line(16);
}

void App::strategies_menu(Ui& ui) {
  Scope scope = session_.scope();
  bool changed = false;
  if (ui.button("all", "All strategies",
                {.quiet = true, .selected = scope.strategies.empty(), .width = ui.px(300), .left = true})) {
    scope.strategies.clear();
    changed = true;
  }
  const std::vector<Chosen> all = session_.all_strategies();
  for (const Chosen& c : all) {
    if (!session_.in_scope(c.key.file)) continue;
    bool on = scope.strategies.empty() || std::ranges::find(scope.strategies, c.key) != scope.strategies.end();
    if (!c.strategy->legal()) {
      ui.text(c.label + " cannot run: " + c.strategy->reason(),
              {.face = Face::kSmall, .ink = Token::kMuted, .max_width = ui.px(420)});
      continue;
    }
    if (!ui.checkbox(fmt::format("{} {}", c.key.file, c.key.id), c.label, on)) continue;
    if (scope.strategies.empty())
      for (const Chosen& other : all)
        if (other.strategy->legal() && session_.in_scope(other.key.file)) scope.strategies.push_back(other.key);
    if (on) {
      scope.strategies.push_back(c.key);
    } else {
      std::erase(scope.strategies, c.key);
    }
    changed = true;
  }
  if (changed) session_.set_scope(scope);
}

void App::scope_line(Ui& ui) {
  const Ui::Scope inside = ui.scope("scope");
  std::vector<Chosen> all_of_scope = session_.all_strategies();
  std::erase_if(all_of_scope, [&](const Chosen& c) { return !session_.in_scope(c.key.file); });
  const std::size_t chosen = session_.chosen().size(), all = all_of_scope.size();
  if (ui.button("strategies", fmt::format("{} of {} strategies", chosen, all),
                {.tooltip = "Which strategies all views show"}))
    ui.open_popup("strategies menu");
  ui.popup("strategies menu", [&] {
    strategies_menu(ui);
    return true;
  });
  const std::vector<LayerPass> passes = session_.passes();
  const auto slowest = session_.slowest_pass(), now = session_.pass();
  if (!slowest || !now) return;
  if (session_.view() == "overview" || session_.view() == "report") {
    ui.same_line();
    ui.text("all layer passes",
            {.ink = Token::kMuted, .beside = true, .tooltip = "The figures of this view cover all layer passes"});
    return;
  }
  std::set<int> layers, steps;
  for (const LayerPass& pass : passes) {
    layers.insert(pass.layer);
    steps.insert(pass.step);
  }
  Scope scope = session_.scope();
  PassChoice layer = pass_choice(layers, scope.layer, slowest->layer, now->layer, "layer");
  PassChoice step = pass_choice(steps, scope.step, slowest->step, now->step, "denoise step");
  ui.same_line();
  if (ui.choice("layer", layer.texts, layer.index, ui.px(150)))
    scope.layer = layer.values[static_cast<std::size_t>(layer.index)];
  ui.same_line();
  if (ui.choice("step", step.texts, step.index, ui.px(200)))
    scope.step = step.values[static_cast<std::size_t>(step.index)];
  int repeats = 1;
  for (const Chosen& c : session_.chosen()) repeats = std::max(repeats, c.strategy->repeats);
  if (repeats > 1) {
    std::vector<std::string> texts = {"median repeat"};
    for (int r = 0; r < repeats; ++r) texts.push_back(fmt::format("repeat {}", r));
    int index = scope.repeat ? std::min(*scope.repeat + 1, repeats) : 0;
    ui.same_line();
    if (ui.choice("repeat", texts, index, ui.px(140)))
      scope.repeat = index > 0 ? std::optional(index - 1) : std::nullopt;
  }
  session_.set_scope(scope);
}

}  // namespace spscope::gui
