// The page of what is to run: presets, the form of config keys, what to do with it.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <thread>

#include "backend/base/letter_case.h"
#include "backend/base/nearest_name.h"
#include "backend/base/whole_file.h"
#include "backend/config/config_fields.h"
#include "gui/launch/child.h"
#include "gui/views/run/run_view.h"

namespace spscope::gui {
namespace {

// Keys that most runs are told apart by; the others are behind "All settings".
constexpr std::string_view kBasicKeys[] = {
    "model.preset",  "model.grid", "mask.pattern", "mask.density", "mask.file",         "mask.block", "cluster.preset",
    "cluster.ranks", "run.mode",   "run.scope",    "run.layers",   "run.denoise_steps", "run.repeats"};
constexpr int kPlanAfterMs = 300;
constexpr float kKeyWidth = 152, kControlWidth = 190, kHelpWidth = 230, kTwoColumns = 900;

// Beside what was drawn last, or below where the width that is left does not hold the label.
void flow(Ui& ui, std::string_view label) {
  ui.same_line();
  if (ui.width_left() < ui.text_width(label) + ui.px(28)) ImGui::NewLine();
}

bool is_basic(std::string_view key) { return std::ranges::find(kBasicKeys, key) != std::end(kBasicKeys); }

bool has_words(std::string_view text, const std::string& words) {
  return lower_case(text).find(lower_case(words)) != std::string::npos;
}

// "the density must be above 0: a share of all query-key pairs: 0.4"
std::string problem_text(const Problem& problem) {
  return problem.hint.empty() ? problem.message : problem.message + " – " + problem.hint;
}

std::string problem_of(const std::vector<Problem>& problems, std::string_view key) {
  std::string text;
  for (const Problem& problem : problems)
    if (problem.field == key) text += (text.empty() ? "" : " ") + problem_text(problem);
  return text;
}

Catalog read_catalog(const std::string& program, const Cancelled& cancelled) {
  Catalog catalog;
  for (const auto& [what, rows] :
       {std::pair("strategies", &catalog.strategies), std::pair("patterns", &catalog.patterns)}) {
    const ChildResult result = run_child({program, "list", what, "--json"}, cancelled);
    const std::optional<Json> json = Json::parse(result.output);
    const Json* list = json ? json->find(what) : nullptr;
    if (list == nullptr || !list->is_array())
      throw Error(ErrorCode::kLaunch,
                  fmt::format("{} does not say what {} it has: {}", program, what, end_text(result.end)),
                  "it must be the spscope of the same version");
    *rows = catalog_rows(*list);
  }
  return catalog;
}

std::vector<std::string> options_of(const std::string& key, const Catalog& catalog) {
  std::vector<std::string> options;
  if (const FieldRow* row = find_field(key))
    for (const std::string_view choice : field_choices(*row)) options.emplace_back(choice);
  if (key == "mask.pattern")
    for (const CatalogRow& row : catalog.patterns) options.push_back(row.name);
  if (const CatalogParameter* parameter = catalog.parameter(key)) options = parameter->choices;
  return options;
}

}  // namespace

void SetupPage::ask(Session& session, RunPages& pages) {
  pages.catalog.ask(
      session.workers(), "catalog",
      [program = pages.program](Readers&, const Cancelled& cancelled, QueryProgress&) {
        return read_catalog(program, cancelled);
      },
      WorkKind::kChild);
  if (pages.catalog.value() == nullptr) return;
  if (!pages.names_checked) {
    pages.names_checked = true;
    pages.form.check_names(pages.known());
  }
  if (!pages.form.problems().empty()) {
    pages.plan.cancel();
    pages.planned_revision = -1;
    return;
  }
  if (pages.planned_revision == pages.form.revision()) return;
  pages.planned_revision = pages.form.revision();
  std::vector<std::string> words = plan_words(pages.program, pages.form, pages.known());
  pages.plan.ask(
      session.workers(), fmt::format("{} {}", pages.form.revision(), shell_line(words)),
      [words, asked = planned_strategies(pages.form, pages.known())](Readers&, const Cancelled& cancelled,
                                                                     QueryProgress&) {
        for (int waited = 0; waited < kPlanAfterMs && !cancelled.is_cancelled(); waited += 10)
          std::this_thread::sleep_for(std::chrono::milliseconds(10));
        if (cancelled.is_cancelled()) return PlanAnswer{};
        const ChildResult result = run_child(words, cancelled);
        return read_plan(result.output, result.errors, asked);
      },
      WorkKind::kChild);
}

std::vector<Problem> SetupPage::problems(RunPages& pages) {
  if (!pages.form.problems().empty()) return pages.form.problems();
  if (const Error* error = pages.plan.error()) return {{error->code(), "", error->what(), error->hint()}};
  const PlanAnswer* answer = pages.plan.value();
  return answer != nullptr && pages.plan.current() ? answer->problems : std::vector<Problem>{};
}

void SetupPage::take(const Preset& preset, RunPages& pages) {
  ReadConfig read = read_config(preset.path);
  const std::string output =
      read.config.run.output.empty() ? free_output(pages.queue, preset.task.verb) : read.config.run.output;
  pages.form.load(read.config);
  pages.task = preset.task;
  pages.preset = preset.path;
  pages.preset_problems = std::move(read.problems);
  pages.form.set("run.output", preset.task.verb == Verb::kAdvise ? "" : output);
}

void SetupPage::draw(Ui& ui, Session& session, RunPages& pages) {
  draw_presets(ui, pages);
  if (const Error* error = pages.catalog.error()) draw_error(ui, "catalog", *error);
  const float height = ui.height_left(), width = ui.width_left();
  if (width < ui.px(kTwoColumns)) {  // one below the other
    if (const Ui::Scope inside = ui.scope("right"); true) {
      draw_actions(ui, session, pages);
      draw_strategies(ui, pages);
      ui.space(8);
    }
    const Ui::Scope inside = ui.scope("form");
    return draw_form(ui, pages);
  }
  if (form_width_ == 0) form_width_ = width * 0.46F;
  form_width_ = std::clamp(form_width_, std::min(ui.px(300), width / 2), std::max(ui.px(300), width * 0.7F));
  ui.pane("form", {.width = form_width_, .height = height, .padded = false}, [&] { draw_form(ui, pages); });
  ui.same_line(0);
  ui.splitter("splitter", true, form_width_, ui.px(300), width * 0.7F);
  ui.same_line(6);
  ui.pane("right", {.width = ui.width_left(), .height = height, .padded = false}, [&] {
    draw_actions(ui, session, pages);
    ui.space(6);
    draw_strategies(ui, pages);
  });
}

void SetupPage::draw_presets(Ui& ui, RunPages& pages) {
  const Ui::Scope inside = ui.scope("presets");
  float used = 0;
  const float width = ui.width_left();
  for (const Preset& preset : pages.presets) {
    const float wide = ui.text_width(preset.title) + ui.px(28);
    if (used > 0 && used + wide + ui.px(8) < width) {
      ui.same_line();
    } else {
      used = 0;
    }
    used += wide + ui.px(8);
    if (ui.button(preset.name, preset.title,
                  {.selected = preset.path == pages.preset,
                   .tooltip = preset.path == pages.preset ? "" : preset.description}))
      take(preset, pages);
  }
  if (pages.presets.empty())
    ui.note("No presets are installed beside this program, and none of your own are in " + own_presets_folder() + ".");
  for (const Preset& preset : pages.presets)
    if (preset.path == pages.preset && !preset.description.empty()) ui.note(preset.description);
  for (std::size_t i = 0; i < pages.preset_problems.size(); ++i) {
    const Problem& problem = pages.preset_problems[i];
    const std::string line = problem.place.line > 0 ? fmt::format("line {}: ", problem.place.line) : "";
    ui.banner(fmt::format("problem {}", i), BannerTone::kWarning,
              std::filesystem::path(pages.preset).filename().string() + ", " + line +
                  (problem.field.empty() ? "" : problem.field + ": ") + problem_text(problem));
  }
  ui.space(6);
}

void SetupPage::draw_form(Ui& ui, RunPages& pages) {
  const std::vector<Problem> found = problems(pages);
  ui.field("search", search_, {.width = std::max(ui.px(120), ui.width_left() - ui.px(150)), .hint = "Find a setting"});
  ui.same_line();
  ui.checkbox("all settings", "All settings", all_settings_, "Every key of a config file");
  const auto shown_key = [&](std::string_view key, std::string_view help) {
    if (!search_.empty()) return has_words(key, search_) || has_words(help, search_);
    return all_settings_ || is_basic(key) || pages.form.changed(key) || !problem_of(found, key).empty();
  };
  std::vector<std::string> keys;
  for (const FieldRow& row : config_fields())
    if (shown_key(row.name, row.help) &&
        (all_settings_ || !search_.empty() || (row.name != "run.output" && row.name != "run.strategies")))
      keys.emplace_back(row.name);
  // Parameters of the pattern stand where they belong: after the keys of masks.
  const std::string pattern = pages.form.text("mask.pattern");
  const auto behind = std::ranges::find_if(
      keys, [](const std::string& key) { return key.starts_with("cluster.") || key.starts_with("run."); });
  std::vector<std::string> parameters;
  for (const CatalogRow& row : pages.known().patterns)
    for (const CatalogParameter& parameter : row.parameters)
      if (((row.name == pattern && (all_settings_ || !search_.empty())) || pages.form.changed(parameter.key)) &&
          shown_key(parameter.key, parameter.help))
        parameters.push_back(parameter.key);
  keys.insert(behind, parameters.begin(), parameters.end());
  // What no row says stands above them: problems of the program, of strategies, of sections.
  for (std::size_t i = 0; i < found.size(); ++i)
    if (std::ranges::find(keys, found[i].field) == keys.end() && !found[i].field.starts_with("strategy.") &&
        found[i].field != "run.strategies" && found[i].field != "run.output")
      ui.banner(fmt::format("problem {}", i), BannerTone::kError,
                (found[i].field.empty() ? "" : found[i].field + ": ") + problem_text(found[i]));
  std::string section;
  for (const std::string& key : keys) {
    const std::string of = key.substr(0, key.find('.'));
    if (of != section) ui.heading(of);
    section = of;
    draw_key(ui, pages, key, found);
  }
  if (keys.empty()) ui.note("No setting has these words in its name or its help.");
}

void SetupPage::draw_key(Ui& ui, RunPages& pages, const std::string& key, const std::vector<Problem>& found) {
  const Ui::Scope inside = ui.scope(key);
  const FieldRow* row = find_field(key);
  const Catalog& catalog = pages.known();
  const CatalogParameter* parameter = catalog.parameter(key);
  const std::string help = row != nullptr ? std::string(row->help) : parameter != nullptr ? parameter->help : "";
  const std::string unit = row != nullptr ? std::string(row->unit) : parameter != nullptr ? parameter->unit : "";
  const bool changed = pages.form.changed(key);
  const float left = ImGui::GetCursorPosX(), top = ImGui::GetCursorPosY(), gap = ui.px(8);
  const std::string problem = problem_of(found, key), label = key.substr(key.find('.') + 1);
  ImGui::SetCursorPosY(top + ui.px(4));  // in the middle of the control's height, as the words behind it
  ui.text(label, {.face = changed ? Face::kBold : Face::kBody, .max_width = ui.px(kKeyWidth), .tooltip = help});
  ImGui::SameLine(left + ui.px(kKeyWidth) + gap);
  ImGui::SetCursorPosY(top);
  const std::vector<std::string> options = options_of(key, catalog);
  // A field that leaves its value to a preset is empty, and shows that value.
  const std::string preset = pages.form.from_preset(key);
  std::string text = preset.empty() || changed ? pages.form.text(key) : "";
  if (!options.empty()) {
    int index =
        static_cast<int>(std::ranges::find(options, text.empty() && parameter != nullptr ? parameter->fallback : text) -
                         options.begin());
    if (ui.choice("value", options, index, ui.px(kControlWidth), help))
      pages.form.set(key, options[static_cast<std::size_t>(index)]);
  } else if (ui.field("value", text,
                      {.width = ui.px(kControlWidth),
                       .hint = parameter != nullptr ? std::string_view(parameter->fallback) : preset})) {
    pages.form.set(key, text);
  }
  if (changed) {
    ui.same_line(4);
    const bool left_to_preset = help.find("from the preset") != std::string::npos;
    const std::string before = left_to_preset         ? "what the preset says"
                               : row != nullptr       ? typed_text(key, RunConfig())
                               : parameter != nullptr ? parameter->fallback
                                                      : "";
    if (ui.button("reset", "Reset",
                  {.quiet = true, .tooltip = before.empty() ? "to the default: empty" : "to the default: " + before}))
      pages.form.reset(key);
  }
  float below = top + ui.theme().control();
  const float left_over = ui.width_left() - (ImGui::GetItemRectMax().x - ImGui::GetWindowPos().x - left);
  const std::string words = unit.empty() || help.find(unit) != std::string::npos ? help : unit + ": " + help;
  const bool beside = left_over > ui.px(kHelpWidth);
  if (beside && !words.empty()) {
    ui.same_line(8);
    const bool one_line = ui.text_width(words, Face::kSmall) <= ui.width_left();
    ImGui::SetCursorPosY(one_line ? top + ui.px(6) : top);
    ui.text(words, {.face = Face::kSmall, .ink = Token::kMuted, .wrap = true});
    below = std::max(below, ImGui::GetItemRectMax().y - ImGui::GetWindowPos().y + ImGui::GetScrollY());
  }
  ImGui::SetCursorPosY(below + ImGui::GetStyle().ItemSpacing.y);
  if (!problem.empty()) {
    ImGui::SetCursorPosX(left + ui.px(kKeyWidth) + gap);
    ui.text(problem, {.face = Face::kSmall, .ink = Token::kWarn, .max_width = ui.width_left(), .wrap = true});
  }
  if (!beside && !words.empty()) ui.text(words, {.face = Face::kSmall, .ink = Token::kMuted, .wrap = true});
}

void SetupPage::start(RunPages& pages, Session& session) {
  const std::string& output = pages.form.config().run.output;
  const std::string out = output.empty() || pages.task.verb == Verb::kAdvise
                              ? ""
                              : std::filesystem::absolute(output).lexically_normal().string();
  const std::string name = std::filesystem::path(out).filename().string();
  const std::string verb = kVerbNames[static_cast<int>(pages.task.verb)];
  const std::string title = name.empty() ? verb : pages.task.verb == Verb::kRun ? name : verb + " " + name;
  pages.shown = pages.queue.add(title, command_words(pages.program, pages.task, pages.form), out);
  if (!out.empty()) session.settings().add_run_folder(std::filesystem::path(out).parent_path().string());
  if (!out.empty()) pages.form.set("run.output", free_output(pages.queue, pages.task.verb));
  pages.task.replace = false;
  pages.on_runs = true;
}

void SetupPage::save(const std::string& path, const std::string& text, Session& session) {
  const auto failure = failure_of([&] { write_whole_file(path, text); });
  session.notice(failure ? failure->what() : path + " is written.", failure.has_value());
  if (!failure) saving_ = Saving::kNone;
}

void SetupPage::draw_actions(Ui& ui, Session& session, RunPages& pages) {
  const Ui::Scope inside = ui.scope("actions");
  static const std::array<std::string, 3> kVerbs = {"Run", "Advise", "Sweep"};
  int verb = static_cast<int>(pages.task.verb);
  if (ui.segments("verb", kVerbs, verb)) {
    pages.task.verb = static_cast<Verb>(verb);
    pages.form.set("run.output", pages.task.verb == Verb::kAdvise ? "" : free_output(pages.queue, pages.task.verb));
  }
  ui.same_line(14);
  constexpr std::string_view kWords[] = {"Runs the config under every strategy chosen below.",
                                         "Asks a model of the cluster which strategy to use.",
                                         "Runs the config once for each value of some keys."};
  ui.text(kWords[verb], {.ink = Token::kMuted, .max_width = ui.width_left(), .beside = true});
  if (pages.task.verb == Verb::kSweep) {
    ui.field("over", pages.task.over, {.hint = "key=value,value,…: cluster.ranks=8,16,32", .mono = true});
  }
  if (pages.task.verb != Verb::kAdvise) {
    std::string output = pages.form.text("run.output");
    if (ui.field("output", output,
                 {.hint = "output file; empty: the result is shown and not kept",
                  .problem = problem_of(problems(pages), "run.output"),
                  .mono = true}))
      pages.form.set("run.output", output);
    std::error_code fault;
    if (!output.empty() && std::filesystem::exists(output, fault))
      ui.checkbox("replace", "This file exists: replace it", pages.task.replace);
  }
  const std::vector<Problem> found = problems(pages);
  std::string first =
      found.empty() ? "" : (found.front().field.empty() ? "" : found.front().field + ": ") + found.front().message;
  if (pages.task.verb == Verb::kSweep && pages.task.over.empty())
    first = "name a key and its values: cluster.ranks=8,16,32";
  const bool waits = pages.queue.busy();
  if (ui.button("start", waits ? "Add to the queue" : kVerbs[static_cast<std::size_t>(verb)],
                {.primary = true, .disabled_why = first}))
    start(pages, session);
  flow(ui, "Copy command");
  if (ui.button("copy command", "Copy command", {.tooltip = "A line for a shell that asks for exactly this"})) {
    ImGui::SetClipboardText(shell_line(command_words("spscope", pages.task, pages.form)).c_str());
    session.notice("The command is on the clipboard.");
  }
  for (const auto& [name, label, kind, ending] :
       {std::tuple("save toml", "Save TOML", Saving::kToml, ".toml"),
        std::tuple("save sbatch", "Save sbatch", Saving::kSbatch, ".sbatch")}) {
    flow(ui, label);
    const bool unfit = kind == Saving::kSbatch && pages.task.verb != Verb::kRun;
    if (!ui.button(name, label,
                   {.selected = saving_ == kind, .disabled_why = unfit ? "a job for Slurm runs one config" : ""}))
      continue;
    saving_ = saving_ == kind ? Saving::kNone : kind;
    save_path_ = std::filesystem::path(free_output(pages.queue, Verb::kRun)).replace_extension(ending).string();
  }
  if (saving_ == Saving::kNone) return;
  ui.field("save path", save_path_, {.width = ui.width_left() - ui.px(80), .mono = true});
  ui.same_line();
  if (ui.button("save", "Save", {}))
    save(save_path_, saving_ == Saving::kToml ? pages.form.toml() : sbatch_script(pages.form), session);
}

}  // namespace spscope::gui
