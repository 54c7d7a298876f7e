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
struct PassChoice {
  std::vector<std::string> texts;
  std::vector<std::optional<int>> values;
  int index = 0;
};
PassChoice pass_choice(const std::set<int>& all, std::optional<int> chosen, std::optional<int> slowest,
                       std::string_view what) {
  PassChoice choice;
  choice.texts.push_back(slowest ? fmt::format("{} {} (slowest)", what, *slowest) : std::string(what));
  choice.values.emplace_back();
  for (const int value : all) {
    if (chosen == value) choice.index = static_cast<int>(choice.values.size());
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
    if (ui.button("tab", files[i]->name, {.tooltip = tip, .width = width})) session_.show("overview");
    ui.same_line(2);
    if (ui.button("close", "×", {.quiet = true, .tooltip = "Close this file"})) closed = static_cast<int>(i);
    ui.same_line(6);
  }
  if (closed >= 0) session_.close(closed);
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
    bool on = scope.strategies.empty() || std::ranges::find(scope.strategies, c.key) != scope.strategies.end();
    if (!c.strategy->legal()) {
      ui.text(c.label + " cannot run: " + c.strategy->reason(),
              {.face = Face::kSmall, .ink = Token::kMuted, .max_width = ui.px(420)});
      continue;
    }
    if (!ui.checkbox(fmt::format("{} {}", c.key.file, c.key.id), c.label, on)) continue;
    if (scope.strategies.empty())
      for (const Chosen& other : all)
        if (other.strategy->legal()) scope.strategies.push_back(other.key);
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
  const std::size_t chosen = session_.chosen().size(), all = session_.all_strategies().size();
  if (ui.button("strategies", fmt::format("{} of {} strategies", chosen, all),
                {.tooltip = "Which strategies all views show"}))
    ui.open_popup("strategies menu");
  ui.popup("strategies menu", [&] {
    strategies_menu(ui);
    return true;
  });
  const std::vector<LayerPass> passes = session_.passes();
  const auto slowest = session_.slowest_pass();
  if (!slowest) return;
  std::set<int> layers, steps;
  for (const LayerPass& pass : passes) {
    layers.insert(pass.layer);
    steps.insert(pass.step);
  }
  Scope scope = session_.scope();
  PassChoice layer = pass_choice(layers, scope.layer, slowest->layer, "layer");
  PassChoice step = pass_choice(steps, scope.step, slowest->step, "denoise step");
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
