#include "gui/views/run/run_view.h"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "backend/base/listed.h"
#include "backend/collect/run_progress.h"
#include "backend/config/config_fields.h"
#include "gui/session/installed_files.h"

namespace spscope::gui {
namespace {

constexpr double kFollowEvery = 0.25;

Json problems_json(const std::vector<Problem>& problems) {
  Json list = Json::array();
  for (const Problem& p : problems) list.push_back({{"field", p.field}, {"message", p.message}, {"hint", p.hint}});
  return list;
}

template <typename Number>
Json known(const std::optional<Number>& number) {
  return number ? Json(*number) : Json();
}

Json form_json(const RunForm& form) {
  Json values = Json::object();
  for (const FieldRow& row : config_fields()) values[row.name] = form.text(row.name);
  for (const std::string& key : form.changed_keys())
    if (find_field(key) == nullptr) values[key] = form.text(key);
  return values;
}

Json plan_json(const PlanAnswer& answer) {
  Json list = Json::array();
  for (const PlannedStrategy& s : answer.strategies)
    list.push_back({{"asked", s.asked},
                    {"name", s.name},
                    {"label", s.label},
                    {"legal", s.legal},
                    {"problems", problems_json(s.problems)},
                    {"imbalance_ratio", known(s.imbalance)},
                    {"sent_bytes", known(s.sent_bytes)},
                    {"memory_bytes", known(s.memory_bytes)},
                    {"makespan_ns", known(s.makespan_ns)}});
  return list;
}

Json queue_json(const RunQueue& queue) {
  Json list = Json::array();
  for (const QueuedRun& run : queue.runs())
    list.push_back({{"number", run.number},
                    {"title", run.title},
                    {"state", run_state_name(run.state)},
                    {"out", run.out},
                    {"command", shell_line(run.words)},
                    {"progress", run.progress ? progress_json(*run.progress) : Json()},
                    {"exit_code", run.end ? Json(run.end->code) : Json()},
                    {"why", run.why}});
  return list;
}

class RunView final : public View {
 public:
  void draw(Ui& ui, Session& session) override {
    begin(session);
    if (pages_.program.empty()) {
      ui.banner(
          "no program", BannerTone::kError,
          "The program spscope is neither beside this one nor on the PATH. Install it, or add its folder to PATH.");
      return;
    }
    draw_quit(ui, session);
    draw_left(ui, session);
    int page = pages_.on_runs ? 1 : 0;
    const std::string runs =
        pages_.queue.runs().empty() ? "Runs" : fmt::format("Runs ({})", pages_.queue.runs().size());
    const std::array<std::string, 2> names = {"Set up", runs};
    if (ui.button("set up", names[0], {.quiet = true, .selected = page == 0})) pages_.on_runs = false;
    ui.same_line(4);
    if (ui.button("runs", names[1], {.quiet = true, .selected = page == 1})) pages_.on_runs = true;
    ui.rule();
    ui.space(4);
    if (pages_.on_runs) {
      runs_.draw(ui, session, pages_);
    } else {
      setup_.draw(ui, session, pages_);
    }
  }

  bool has_details(const Session&) override { return false; }

  Json dump(Session& session) override {
    Json json = Json::object();
    json["values"] = form_json(pages_.form);
    json["changed"] = pages_.form.changed_keys();
    json["problems"] = problems_json(SetupPage::problems(pages_));
    json["command"] = shell_line(command_words("spscope", pages_.task, pages_.form));
    Json presets = Json::array();
    for (const Preset& preset : pages_.presets) presets.push_back({{"name", preset.name}, {"title", preset.title}});
    json["presets"] = std::move(presets);
    const PlanAnswer* answer = pages_.plan.value();
    json["planned"] = !pages_.plan_is_old();
    json["layer_passes"] = answer != nullptr ? Json(answer->layer_passes) : Json();
    json["strategies"] = answer != nullptr ? plan_json(*answer) : Json();
    json["queue"] = queue_json(pages_.queue);
    const WatchedRun* seen = runs_.seen();
    json["live"] = seen != nullptr && seen->progress ? progress_json(*seen->progress) : Json();
    json["timeline"] = runs_.live();
    Json found = Json::array();
    for (const FoundRun& run : runs_.found(session))
      found.push_back({{"out", run.note.out}, {"goes_on", run.state == CollectorState::kRuns}});
    json["found"] = std::move(found);
    return json;
  }

  std::optional<double> next_frame_s() override { return goes_on() ? std::optional(kFollowEvery) : std::nullopt; }

  void tick(Session& session) override {
    const int number = pages_.queue.busy() ? pages_.queue.current()->number : 0;
    pages_.queue.poll();
    if (const std::string fault = pages_.kept.keep(pages_.queue.runs()); !fault.empty())
      session.notice("runs that wait are lost when the window is closed: " + fault, true);
    if (pages_.queue.busy()) runs_.follow(session, pages_);
    const QueuedRun* run = pages_.queue.find(number);
    if (run == nullptr || run->goes_on()) return;
    runs_.look_again();
    if (session.view() != "run")
      session.notice(fmt::format("{}: {}", run->title, run_state_name(run->state)), run->state == RunState::kFailed);
  }

  Leave may_quit(Session& session) override {
    if (!pages_.queue.busy() || quit_ == Quit::kLeave) return Leave::kYes;
    if (quit_ == Quit::kCancel) {
      quit_ = Quit::kNone;
      return Leave::kNo;
    }
    if (quit_ == Quit::kNone) {
      quit_ = Quit::kAsking;
      session.show("run");
    }
    return Leave::kAsking;
  }

 private:
  bool goes_on() const {
    for (const QueuedRun& run : pages_.queue.runs())
      if (run.goes_on() || run.state == RunState::kWaiting) return true;
    return watching_found_;
  }

  void begin(Session& session) {
    if (!begun_) {
      begun_ = true;
      pages_.program = spscope_program();
      pages_.kept = KeptQueue(session.settings().folder);
      pages_.left = pages_.kept.left(pages_.program);
      pages_.presets = presets_in({presets_folder(), own_presets_folder()});
      for (const Preset& preset : pages_.presets)
        if (preset.task.verb == Verb::kRun) {
          SetupPage::take(preset, pages_);
          break;
        }
    }
    if (const std::string out = session.take_wanted_run(); !out.empty()) {
      pages_.on_runs = true;
      runs_.look_at(pages_, out);
    }
    if (const std::string path = session.take_wanted_preset(); !path.empty()) {
      pages_.on_runs = false;
      for (const Preset& preset : pages_.presets)
        if (preset.path == path) SetupPage::take(preset, pages_);
    }
    SetupPage::ask(session, pages_);
    watching_found_ = pages_.on_runs && runs_.watches_found(session, pages_);
  }

  // The user closes the window while a run goes on.
  void draw_quit(Ui& ui, const Session& session) {
    const QueuedRun* run = pages_.queue.current();
    if (quit_ == Quit::kNone || run == nullptr) {
      if (quit_ != Quit::kLeave) quit_ = Quit::kNone;
      return;
    }
    const Ui::Scope inside = ui.scope("quit");
    const auto waits = std::ranges::count(pages_.queue.runs(), RunState::kWaiting, &QueuedRun::state);
    const std::string waiting = waits == 0 || session.settings().folder.empty() ? ""
                                : waits == 1 ? " The run that waits is offered again then."
                                             : fmt::format(" The {} runs that wait are offered again then.", waits);
    if (quit_ == Quit::kStopping) {
      ui.banner("stopping", BannerTone::kNote,
                run->title + " stops and keeps what is complete; the window closes then.");
    } else {
      ui.banner("asking", BannerTone::kWarning,
                run->out.empty()
                    ? run->title + " goes on, and its result is only shown here."
                    : run->title + " goes on. A run that is left running is found again at the next start." + waiting);
    }
    if (quit_ == Quit::kAsking && ui.button("stop", "Stop it and quit", {.primary = true})) {
      pages_.queue.hold();
      pages_.queue.stop(run->number);
      quit_ = Quit::kStopping;
    }
    if (quit_ == Quit::kAsking) ui.same_line();
    if (ui.button("leave", "Leave it running", {})) quit_ = Quit::kLeave;
    ui.same_line();
    if (ui.button("cancel", "Do not quit", {})) {
      quit_ = Quit::kCancel;
      pages_.queue.release();
    }
    ui.space(6);
    ui.rule();
  }

  // Runs that waited in a window that is gone.
  void draw_left(Ui& ui, Session& session) {
    if (pages_.left.empty()) return;
    const Ui::Scope inside = ui.scope("left");
    std::vector<std::string> titles;
    for (const KeptRun& run : pages_.left) titles.push_back(run.title);
    ui.banner(
        "waiting", BannerTone::kNote,
        fmt::format("{} still waited when the window was closed: {}.",
                    pages_.left.size() == 1 ? "A run" : fmt::format("{} runs", pages_.left.size()), listed(titles)));
    const bool add = ui.button("add", "Add to the queue", {.primary = true});
    ui.same_line();
    const bool forget = ui.button("forget", "Forget", {.tooltip = "Their commands are not kept any longer"});
    ui.space(6);
    ui.rule();
    if (!add && !forget) return;
    for (KeptRun& run : pages_.kept.take_left(pages_.program)) {
      if (!add) continue;
      if (!run.out.empty()) session.settings().add_run_folder(std::filesystem::path(run.out).parent_path().string());
      pages_.shown = pages_.queue.add(run.title, run.words, run.out);
    }
    pages_.left.clear();
    pages_.on_runs |= add;
  }

  RunPages pages_;
  SetupPage setup_;
  RunsPage runs_;
  bool begun_ = false, watching_found_ = false;
  enum class Quit { kNone, kAsking, kStopping, kLeave, kCancel } quit_ = Quit::kNone;
};

// Whether a run has left something there: its output, or what it recorded and did not merge.
bool is_there(const std::string& out) {
  std::error_code fault;
  return std::filesystem::exists(out, fault) || std::filesystem::exists(collecting_path(out), fault);
}

}  // namespace

std::string free_output(const RunQueue& queue, Verb verb) {
  std::error_code fault;
  return free_output(queue, verb, std::filesystem::current_path(fault));
}

std::string free_output(const RunQueue& queue, Verb verb, const std::filesystem::path& folder) {
  const char* ending = verb == Verb::kSweep ? ".csv" : ".db";
  for (int number = 1;; ++number) {
    const std::string path = (folder / fmt::format("run-{}{}", number, ending)).string();
    bool taken = is_there(path);
    for (const QueuedRun& run : queue.runs()) taken |= run.out == path;
    if (!taken) return path;
  }
}

std::string recovered_path(const std::string& out) {
  std::error_code fault;
  const std::filesystem::path path(out);
  if (!std::filesystem::exists(path, fault)) return out;
  return (path.parent_path() / (path.stem().string() + "-recovered.db")).string();
}

void recover(RunPages& pages, const std::string& out, const std::string& to) {
  const std::string name = std::filesystem::path(out).filename().string();
  pages.shown = pages.queue.add("recover " + name, {pages.program, "recover", out, "-o", to}, to);
  pages.on_runs = true;
}

void run_again(RunPages& pages, const QueuedRun& run) {
  std::vector<std::string> words = run.words;
  std::string out = run.out, title = run.title;
  const auto flag = std::ranges::find(words, "-o");
  if (!out.empty() && flag != words.end() && std::next(flag) != words.end() && is_there(out)) {
    const Verb verb = words.size() > 1 && words[1] == "sweep" ? Verb::kSweep : Verb::kRun;
    out = *std::next(flag) = free_output(pages.queue, verb, std::filesystem::path(out).parent_path());
    title = std::filesystem::path(out).filename().string();
  }
  pages.shown = pages.queue.add(title, std::move(words), out);
}

std::unique_ptr<View> make_run_view() { return std::make_unique<RunView>(); }

}  // namespace spscope::gui
