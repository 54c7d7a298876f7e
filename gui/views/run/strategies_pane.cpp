// The strategies of the page of what is to run: which are chosen, their parameters, and what is planned for each.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>

#include "backend/base/number_text.h"
#include "gui/views/run/run_view.h"

namespace spscope::gui {
namespace {

// Widths of the columns, as far as the pane allows: a name, four figures, a button.
struct Columns {
  float name, figure;
};
Columns columns_of(const Ui& ui) {
  const float width = ui.width_left(), button = ui.px(66);
  const float name = std::clamp(width - button - 4 * ui.px(66), ui.px(110), ui.px(190));
  return {name, std::clamp((width - button - name) / 4, ui.px(50), ui.px(82))};
}

const PlannedStrategy* planned(const PlanAnswer* answer, std::string_view asked) {
  if (answer == nullptr) return nullptr;
  const auto found = std::ranges::find(answer->strategies, asked, &PlannedStrategy::asked);
  return found != answer->strategies.end() ? &*found : nullptr;
}

struct Figures {
  float left, top;  // of the first column
  float width;      // of a column
  bool dimmed;      // of a form before the last change
};

void draw_figures(Ui& ui, const Figures& at, const PlannedStrategy& s) {
  const Token ink = at.dimmed ? Token::kMuted : Token::kInk;
  const auto column = [&](int number, const std::string& text, std::string_view tip) {
    ImGui::SameLine(at.left + static_cast<float>(number) * at.width);
    ImGui::SetCursorPosY(at.top + ui.px(3));
    ui.text(text, {.face = Face::kMono, .ink = ink, .max_width = at.width - ui.px(8), .right = true, .tooltip = tip});
  };
  const auto text = [](const std::optional<double>& value, std::string (*form)(double)) {
    return value ? form(*value) : std::string("–");
  };
  column(0, text(s.imbalance, ratio_text), "busiest rank to mean, of attention work");
  column(1, text(s.sent_bytes, bytes_text), "mean over ranks, as in the summary of a run");
  column(2, text(s.memory_bytes, binary_bytes_text),
         s.memory_limit_bytes ? fmt::format("of {} a rank of the cluster has", binary_bytes_text(*s.memory_limit_bytes))
                              : "of the rank that needs most");
  column(3, text(s.makespan_ns, duration_text), "modelled; where the config is simulated");
}

std::string reason_of(const PlannedStrategy& s) {
  if (s.problems.empty()) return "";
  const Problem& problem = s.problems.front();
  return problem.hint.empty() ? problem.message : problem.message + " – " + problem.hint;
}

// What the figures of the first denoise step do not show of a run of several; "" for a run of one.
std::string later_steps_text(const RunConfig& config) {
  if (config.run.denoise_steps < 2) return "";
  if (config.run.mask_lag == 0) return "Later steps have masks of their own, and other figures.";
  return fmt::format(
      "run.mask_lag = {}: in the first step no mask is known, so what follows the mask divides evenly here. From the "
      "second on it goes by the mask of the step before, and the run has other figures.",
      config.run.mask_lag);
}

// Whether a text of run.strategies is a strategy with parameters of its own: "usp:ulysses=4,ring=2".
bool is_setting_of(std::string_view text, std::string_view name) {
  return text.size() > name.size() && text.starts_with(name) && text[name.size()] == ':';
}

// What stands beside each other in a row has several heights: the next row begins below the tallest.
void end_row(Ui& ui, float top, float height) { ImGui::SetCursorPosY(top + height + ui.px(5)); }

void draw_reasons(Ui& ui, const PlannedStrategy& s, float indent, Token ink) {
  for (const Problem& problem : s.problems) {
    ImGui::SetCursorPosX(ImGui::GetCursorPosX() + indent);
    ui.text(problem.hint.empty() ? problem.message : problem.message + " – " + problem.hint,
            {.face = Face::kSmall, .ink = ink, .max_width = ui.width_left(), .wrap = true});
  }
}

}  // namespace

void SetupPage::draw_strategies(Ui& ui, RunPages& pages) {
  const Ui::Scope inside = ui.scope("strategies");
  const PlanAnswer* answer = pages.plan.value();
  bool all = pages.form.all_settings();
  ui.heading("Strategies");
  if (ui.checkbox("all", "All settings worth comparing", all,
                  "Every strategy that can run, each at the best of its settings"))
    pages.form.set_strategies(all ? std::vector<std::string>{"all"}
                                  : std::vector<std::string>{"ulysses", "ring", "usp"});
  if (answer != nullptr && answer->layer_passes > 0 && !pages.plan_is_old()) {
    ui.same_line(14);
    ui.text(fmt::format("Planned: {} layer pass{} of the first denoise step", answer->layer_passes,
                        answer->layer_passes == 1 ? "" : "es"),
            {.face = Face::kSmall, .ink = Token::kMuted, .max_width = ui.width_left(), .beside = true});
    if (const std::string later = later_steps_text(pages.form.config()); !later.empty())
      ui.text(later, {.face = Face::kSmall, .ink = Token::kMuted, .wrap = true});
  }
  draw_loading(ui, "planning", pages.plan, "Planning…");
  const std::vector<Problem> found = problems(pages);
  // Those of parameters stand beside their fields below.
  for (std::size_t i = 0; i < found.size(); ++i)
    if (found[i].field == "run.strategies" ||
        (found[i].field.starts_with("strategy.") && (all || pages.known().parameter(found[i].field) == nullptr)))
      ui.banner(fmt::format("problem {}", i), BannerTone::kError,
                found[i].field + ": " + found[i].message + (found[i].hint.empty() ? "" : " – " + found[i].hint));
  const Columns columns = columns_of(ui);
  const float left = ImGui::GetCursorPosX() + columns.name;
  ui.text("strategy", {.face = Face::kSmall, .ink = Token::kMuted, .max_width = columns.name});
  const char* const headings[] = {"imbalance", "sent/rank", "needs/rank", "makespan"};
  for (int i = 0; i < 4; ++i) {
    ImGui::SameLine(left + static_cast<float>(i) * columns.figure);
    ui.text(headings[i],
            {.face = Face::kSmall, .ink = Token::kMuted, .max_width = columns.figure - ui.px(8), .right = true});
  }
  if (all && answer != nullptr) {
    for (const PlannedStrategy& s : answer->strategies) {
      const float top = ImGui::GetCursorPosY() - ui.px(4);
      ui.text(s.label, {.max_width = columns.name - ui.px(8), .tooltip = s.label});
      draw_figures(ui, {left, top, columns.figure, pages.plan_is_old()}, s);
      draw_reasons(ui, s, ui.px(12), Token::kMuted);
    }
    return;
  }
  if (all) return;
  const std::vector<std::string> chosen = pages.form.strategies();
  for (const CatalogRow& row : pages.known().strategies) {
    draw_strategy(ui, pages, row);
    for (const std::string& text : chosen)
      if (is_setting_of(text, row.name)) draw_setting(ui, pages, text);
  }
  // Of no strategy that there is.
  for (const std::string& text : chosen)
    if (std::ranges::none_of(pages.known().strategies,
                             [&](const CatalogRow& row) { return text == row.name || is_setting_of(text, row.name); }))
      draw_setting(ui, pages, text);
}

void SetupPage::draw_strategy(Ui& ui, RunPages& pages, const CatalogRow& row) {
  const Ui::Scope inside = ui.scope(row.name);
  std::vector<std::string> chosen = pages.form.strategies();
  const bool plain = std::ranges::find(chosen, row.name) != chosen.end();
  const auto of_row = [&](const std::string& text) { return text == row.name || is_setting_of(text, row.name); };
  const bool only_settings = !plain && std::ranges::any_of(chosen, of_row);  // they stand below, with their figures
  bool on = plain || only_settings;
  const Columns columns = columns_of(ui);
  const float left = ImGui::GetCursorPosX(), top = ImGui::GetCursorPosY();
  if (ui.checkbox("chosen", row.name, on, row.summary)) {
    if (on) {
      chosen.push_back(row.name);
    } else {
      std::erase_if(chosen, of_row);
    }
    pages.form.set_strategies(chosen);
  }
  const PlannedStrategy* s = only_settings ? nullptr : planned(pages.plan.value(), row.name);
  if (s != nullptr && s->legal) {
    draw_figures(ui, {left + columns.name, top, columns.figure, pages.plan_is_old()}, *s);
  } else if (s != nullptr) {
    ImGui::SameLine(left + columns.name);
    ImGui::SetCursorPosY(top + ui.px(3));
    const std::string why = "not legal here: " + reason_of(*s);
    ui.text(on ? "not legal here" : why,
            {.ink = Token::kMuted, .max_width = 4 * columns.figure - ui.px(8), .tooltip = why});
  }
  if (!row.parameters.empty()) {
    ImGui::SameLine(left + columns.name + 4 * columns.figure + ui.px(4));
    ImGui::SetCursorPosY(top);
    if (ui.button("parameters", unfolded_ == row.name ? "Less" : "Set…",
                  {.quiet = true, .selected = unfolded_ == row.name, .tooltip = "Parameters of " + row.name}))
      unfolded_ = unfolded_ == row.name ? "" : row.name;
  }
  end_row(ui, top, ui.theme().control());
  if (s != nullptr && on) draw_reasons(ui, *s, ui.px(26), Token::kWarn);
  const bool faulty = std::ranges::any_of(problems(pages), [&](const Problem& problem) {
    return std::ranges::find(row.parameters, problem.field, &CatalogParameter::key) != row.parameters.end();
  });
  if (unfolded_ != row.name && !faulty) return;
  ImGui::Indent(ui.px(26));
  ui.note(row.summary + ".");
  for (const CatalogParameter& parameter : row.parameters) draw_key(ui, pages, parameter.key, problems(pages));
  if (ui.button("add", "Add a second setting",
                {.tooltip = "Compare " + row.name + " with other parameters beside it"})) {
    chosen.push_back(fmt::format("{}:{}={}", row.name, row.parameters.front().name, row.parameters.front().fallback));
    pages.form.set_strategies(chosen);
  }
  ImGui::Unindent(ui.px(26));
}

// A strategy with parameters of its own: "usp:ulysses=4,ring=2".
void SetupPage::draw_setting(Ui& ui, RunPages& pages, const std::string& text) {
  std::vector<std::string> chosen = pages.form.strategies();
  const auto place = std::ranges::find(chosen, text);
  if (place == chosen.end()) return;  // its strategy was switched off in this frame
  const Ui::Scope inside = ui.scope(fmt::format("setting {}", place - chosen.begin()));
  const Columns columns = columns_of(ui);
  const float left = ImGui::GetCursorPosX(), top = ImGui::GetCursorPosY(), indent = ui.px(26);
  std::string value = text;
  ImGui::SetCursorPosX(left + indent);
  if (ui.field("value", value, {.width = columns.name - indent - ui.px(8), .mono = true})) {
    *place = value;
    pages.form.set_strategies(chosen);
    return;
  }
  const PlannedStrategy* s = planned(pages.plan.value(), text);
  if (s != nullptr && s->legal) draw_figures(ui, {left + columns.name, top, columns.figure, pages.plan_is_old()}, *s);
  ImGui::SameLine(left + columns.name + 4 * columns.figure + ui.px(4));
  ImGui::SetCursorPosY(top);
  if (ui.button("remove", "Remove", {.quiet = true})) {
    chosen.erase(place);
    pages.form.set_strategies(chosen);
    return;
  }
  end_row(ui, top, ui.theme().control());
  if (s != nullptr) draw_reasons(ui, *s, ui.px(26), Token::kWarn);
}

}  // namespace spscope::gui
