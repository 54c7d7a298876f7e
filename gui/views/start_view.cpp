// Start: what to open and what to begin with.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <filesystem>

#include "gui/launch/found_runs.h"
#include "gui/launch/presets.h"
#include "gui/session/installed_files.h"
#include "gui/views/file_browser.h"
#include "gui/views/view.h"

namespace spscope::gui {
namespace {

constexpr float kPresetsBeside = 1000;
constexpr std::size_t kShownPresets = 3;

class StartView final : public View {
 public:
  void draw(Ui& ui, Session& session) override {
    const float most = std::min(ui.width_left(), ui.px(900));
    ui.text("spscope", {.face = Face::kTitle});
    ui.text(
        "Which sequence-parallel strategy fits this model, this sparsity and this cluster, and what makes the others "
        "slower?",
        {.ink = Token::kMuted, .max_width = most, .wrap = true});
    ui.space(8);
    const std::string demo = demo_path();
    if (ui.button(
            "demo", "Open the demo",
            {.primary = true,
             .tooltip = "Wan2.1-14B with sparse attention under five strategies on 8 GPUs: 6 layer passes, simulated",
             .disabled_why = demo.empty() ? "demo.db is not installed beside this program" : ""}))
      session.go_to_file(demo);
    ui.same_line();
    if (ui.button("new run", "New run", {.tooltip = "Choose a model, a cluster and strategies, and run them"}))
      session.show("run");
    ui.same_line();
    if (ui.button("browse", "Open…",
                  {.tooltip = "The stored results of a run: a .db file. Files can be dropped on the window, too."}))
      browsing_ = !browsing_;
    ui.space(10);
    if (browsing_) {
      if (const auto chosen = browser_.draw(ui)) {
        browsing_ = false;
        session.go_to_file(*chosen);
      }
      ui.space(10);
    }
    // In a wide window presets stand beside the files.
    const float width = ui.width_left(),
                left = width >= ui.px(kPresetsBeside) ? std::min(width / 2, ui.px(640)) : width;
    const ImVec2 from = ImGui::GetCursorScreenPos();
    ImGui::BeginGroup();
    draw_recent(ui, session, left);
    ui.space(10);
    draw_runs(ui, session);
    draw_command(ui, "A program of your own",
                 "Record what its ranks, kernels and collectives do, then open the file here:", "attach",
                 "spscope attach -o train.db -- python3 train.py");
    draw_command(ui, "A file on another host", "Make a page of it there, and open that page in a browser here:", "line",
                 "ssh HOST spscope report RUN.db --format html > run.html");
    ImGui::EndGroup();
    if (left < width) ImGui::SetCursorScreenPos({from.x + left + ui.px(24), from.y});
    ImGui::BeginGroup();
    draw_presets(ui, session);
    ImGui::EndGroup();
  }

  bool has_details(const Session&) override { return false; }

  bool run(Command command, Ui&, Session&) override {
    if (command != Command::kOpenFile) return false;
    browsing_ = true;
    browser_.focus();
    return true;
  }

  // One that goes on may end.
  std::optional<double> next_frame_s() override { return any_runs_ ? std::optional(2.0) : std::nullopt; }

  Json dump(Session& session) override {
    Json json = Json::object();
    json["demo"] = demo_path();
    json["recent"] = session.settings().recent;
    Json runs = Json::array();
    for (const FoundRun& run : runs_.look(session))
      runs.push_back({{"out", run.note.out}, {"goes_on", run.state == CollectorState::kRuns}});
    json["runs"] = std::move(runs);
    return json;
  }

 private:
  // A command to be run elsewhere.
  static void draw_command(Ui& ui, std::string_view title, std::string_view words, std::string_view name,
                           const std::string& line) {
    ui.heading(title);
    ui.text(words, {.ink = Token::kMuted});
    ui.text(line, {.face = Face::kMono});
    ui.same_line();
    if (ui.button(fmt::format("copy {}", name), "Copy", {.quiet = true})) ImGui::SetClipboardText(line.c_str());
  }

  // The first questions that a run answers, each with what it is.
  void draw_presets(Ui& ui, Session& session) {
    if (!presets_) presets_ = presets_in({presets_folder(), own_presets_folder()});
    if (presets_->empty()) return;
    ui.heading("Begin with a question");
    const float width = std::min(ui.width_left(), ui.px(560));
    for (std::size_t i = 0; i < std::min(presets_->size(), kShownPresets); ++i) {
      const Preset& preset = (*presets_)[i];
      if (ui.button("preset " + preset.name, preset.title, {.width = width, .left = true}))
        session.show_preset(preset.path);
      ui.text(preset.description, {.ink = Token::kMuted, .max_width = width, .wrap = true});
      ui.space(8);
    }
  }

  static void draw_recent(Ui& ui, Session& session, float width) {
    ui.heading("Recent files");
    const std::vector<std::string> files = session.settings().recent;
    if (files.empty()) ui.note("None yet.");
    for (const std::string& path : files) {
      std::error_code ignored;
      const bool there = std::filesystem::exists(path, ignored);
      const std::string name = std::filesystem::path(path).filename().string();
      if (!there) {
        ui.text(name + " (it is not there any more)", {.ink = Token::kMuted, .max_width = ui.px(420), .tooltip = path});
        continue;
      }
      if (ui.link(path, name, {.ink = Token::kAccent, .max_width = ui.px(300)})) {
        session.go_to_file(path);
        return;
      }
      ui.same_line();
      ui.text(std::filesystem::path(path).parent_path().string(),
              {.face = Face::kSmall, .ink = Token::kMuted, .max_width = std::max(ui.px(60), width - ui.px(310))});
    }
  }

  // Runs that go on without a window, and runs that died.
  void draw_runs(Ui& ui, Session& session) {
    const std::vector<FoundRun>& runs = runs_.look(session);
    any_runs_ = std::ranges::any_of(runs, [](const FoundRun& run) { return run.state == CollectorState::kRuns; });
    if (runs.empty()) return;
    ui.heading("Runs");
    for (const FoundRun& run : runs) {
      const std::string name = std::filesystem::path(run.note.out).filename().string();
      if (ui.link("run " + run.note.out, name,
                  {.ink = Token::kAccent, .max_width = ui.px(300), .tooltip = run.note.out}))
        session.show_run(run.note.out);
      ui.same_line();
      const char* words = run.state == CollectorState::kRuns    ? "goes on: follow it, or stop it"
                          : run.state == CollectorState::kEnded ? "died: recover what it left"
                                                                : "is of another host";
      ui.text(words, {.face = Face::kSmall, .ink = Token::kMuted});
    }
    ui.space(10);
  }

  bool browsing_ = false, any_runs_ = false;
  std::optional<std::vector<Preset>> presets_;  // absent until they were read
  FileBrowser browser_;
  RunFinder runs_;
};

}  // namespace

std::unique_ptr<View> make_start_view() { return std::make_unique<StartView>(); }

}  // namespace spscope::gui
