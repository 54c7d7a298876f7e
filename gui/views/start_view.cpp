// Start: what to open and what to begin with.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <filesystem>

#include "gui/launch/found_runs.h"
#include "gui/session/installed_files.h"
#include "gui/views/file_browser.h"
#include "gui/views/view.h"

namespace spscope::gui {
namespace {

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
    draw_recent(ui, session);
    ui.space(10);
    draw_runs(ui, session);
    ui.heading("A file on another host");
    ui.text("Make a page of it there, and open that page in a browser here:", {.ink = Token::kMuted, .wrap = true});
    const std::string line = "ssh HOST spscope report RUN.db --format html > run.html";
    ui.text(line, {.face = Face::kMono});
    ui.same_line();
    if (ui.button("copy line", "Copy", {.quiet = true})) ImGui::SetClipboardText(line.c_str());
  }

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
  static void draw_recent(Ui& ui, Session& session) {
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
      ui.text(std::filesystem::path(path).parent_path().string(), {.face = Face::kSmall, .ink = Token::kMuted});
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
  FileBrowser browser_;
  RunFinder runs_;
};

}  // namespace

std::unique_ptr<View> make_start_view() { return std::make_unique<StartView>(); }

}  // namespace spscope::gui
