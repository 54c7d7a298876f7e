// The view that starts runs. Two pages: what is to run (presets, the form of config keys, strategies), and the runs
// that wait, go on or have ended.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gui/launch/advice.h"
#include "gui/launch/catalog.h"
#include "gui/launch/command_text.h"
#include "gui/launch/found_runs.h"
#include "gui/launch/kept_queue.h"
#include "gui/launch/live_watch.h"
#include "gui/launch/plan_answer.h"
#include "gui/launch/presets.h"
#include "gui/launch/run_form.h"
#include "gui/launch/run_queue.h"
#include "gui/session/query_slot.h"
#include "gui/ui/table_view.h"
#include "gui/views/run/live_pane.h"
#include "gui/views/view.h"

namespace spscope::gui {

// What the pages of the view share.
struct RunPages {
  std::string program = {};  // "": spscope is not installed
  RunForm form = {};
  Task task = {};
  std::vector<Preset> presets = {};
  std::string preset = {};                    // path of the one that was taken last
  std::vector<Problem> preset_problems = {};  // of that file: keys and values that the form does not have
  QuerySlot<Catalog> catalog = {};
  QuerySlot<PlanAnswer> plan = {};
  bool names_checked = false;
  int planned_revision = -1;  // of the form that the plan was asked for
  RunQueue queue = {};
  KeptQueue kept{""};
  std::vector<KeptRun> left = {};  // that waited in a window that is gone
  int shown = 0;                   // number of the run that is looked at; 0: the one that was found
  bool on_runs = false;            // the page

  // Whether what is planned is that of the form before its last change.
  bool plan_is_old() { return planned_revision != form.revision() || !plan.current(); }
  const Catalog& known() {
    static const Catalog kNone;
    const Catalog* catalog_now = catalog.value();
    return catalog_now != nullptr ? *catalog_now : kNone;
  }
};

// -- the page of what is to run
class SetupPage {
 public:
  void draw(Ui& ui, Session& session, RunPages& pages);
  // Asks what only the program knows, 0.3 s after the last change.
  static void ask(Session& session, RunPages& pages);
  static void take(const Preset& preset, RunPages& pages);
  // Problems of the config: found here, then those that the program found; without those of another form.
  static std::vector<Problem> problems(RunPages& pages);

 private:
  void draw_presets(Ui& ui, RunPages& pages);
  void draw_form(Ui& ui, RunPages& pages);
  void draw_key(Ui& ui, RunPages& pages, const std::string& key, const std::vector<Problem>& problems);
  void draw_actions(Ui& ui, Session& session, RunPages& pages);
  void draw_strategies(Ui& ui, RunPages& pages);
  void draw_strategy(Ui& ui, RunPages& pages, const CatalogRow& row);
  void draw_setting(Ui& ui, RunPages& pages, const std::string& text);
  static void start(RunPages& pages, Session& session);
  void save(const std::string& path, const std::string& text, Session& session);

  std::string search_, save_path_, unfolded_;
  bool all_settings_ = false;
  enum class Saving { kNone, kToml, kSbatch } saving_ = Saving::kNone;
  float form_width_ = 0;
};

// -- the page of runs
class RunsPage {
 public:
  void draw(Ui& ui, Session& session, RunPages& pages);
  const std::vector<FoundRun>& found(Session& session) { return finder_.look(session); }
  // A run has ended: what it left is looked for at once.
  void look_again() { finder_.again(); }
  // What the run that is looked at does now.
  const WatchedRun* seen() { return watch_.seen(); }
  // What the timeline of it shows.
  Json live() { return live_.dump(); }
  void follow(Session& session, RunPages& pages);
  void look_at(RunPages& pages, const std::string& out);
  // Whether a run that was found, and goes on, is looked at.
  bool watches_found(Session& session, const RunPages& pages);

 private:
  void draw_list(Ui& ui, Session& session, RunPages& pages);
  void draw_run(Ui& ui, Session& session, RunPages& pages, const QueuedRun& run);
  void draw_found(Ui& ui, Session& session, RunPages& pages, const FoundRun& run);
  // Whether Recover was pressed: the list of runs is another one.
  bool draw_recover(Ui& ui, RunPages& pages, const std::string& out, bool primary);
  void draw_live(Ui& ui, const WatchedRun& seen);
  void look(Session& session, const std::string& out);
  // What a run of `spscope advise` answered; nullptr of others.
  const Advice* advice_of(const QueuedRun& run);
  void draw_advice(Ui& ui, Session& session, RunPages& pages, const QueuedRun& run, const Advice& advice);

  RunFinder finder_;
  std::string found_out_;                // output of the found run that is looked at
  std::string recover_of_, recover_to_;  // the run whose recovery has a path in the field, and that path
  LiveWatch watch_;
  LivePane live_;
  TableState ranks_, strategies_;
  int advice_of_ = 0;  // the number of the run
  std::optional<Advice> advice_;
};

// "/here/run-2.db": a file that is not there and that no run of the queue will write.
std::string free_output(const RunQueue& queue, Verb verb);
std::string free_output(const RunQueue& queue, Verb verb, const std::filesystem::path& folder);
// Where a run is recovered to if nobody says: its output, or a file beside it where that is there.
std::string recovered_path(const std::string& out);
// Adds `spscope recover` of a run to the queue and shows it.
void recover(RunPages& pages, const std::string& out, const std::string& to);
// Adds the command of a run that has ended once more; what it kept or recorded stays, the new file lies beside it.
void run_again(RunPages& pages, const QueuedRun& run);

}  // namespace spscope::gui
