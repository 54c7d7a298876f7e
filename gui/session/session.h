// Session: what the window is about: open files, the scope and selection that all views share, where the user was
// before, and the questions under way. Views read it and change it through its members; it draws nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend/analysis/comparison.h"
#include "backend/analysis/explanation.h"
#include "backend/analysis/observation.h"
#include "gui/session/link.h"
#include "gui/session/pass_data.h"
#include "gui/session/query_slot.h"
#include "gui/session/settings.h"
#include "gui/session/workers.h"

namespace spscope::gui {

struct FileContent {
  std::vector<Comparison> comparisons;  // one a workload
  FileRecord record;
  std::vector<Observation> observed;  // of a program that nobody planned, which has no comparison
};

enum class FileState { kLoading, kReady, kFailed, kGivenUp };

struct OpenFile {
  std::string path;
  std::string name;    // short, unique among the open ones
  int generation = 0;  // another one each time it is read, also after it was closed
  std::uint64_t identity = 0;
  std::string changed;  // what happened to the file on disk since it was read; "": nothing
  std::unique_ptr<QuerySlot<FileContent>> slot;
  // Of a file of thousands of layer passes they are there long before the content.
  std::unique_ptr<QuerySlot<std::vector<StrategyMakespan>>> makespans;

  FileState state() const;
  const FileContent* content() const { return slot->value(); }
  // What is shown while the content is being read, and after that was given up; nullptr when there is none.
  const std::vector<StrategyMakespan>* early() const;
  const Error* error() const { return slot->error(); }
};

// A strategy of the scope, with what the file says of it.
struct Chosen {
  StrategyKey key;
  const OpenFile* file = nullptr;
  const Comparison* comparison = nullptr;
  const StrategyResult* strategy = nullptr;
  // "ulysses u8"; with its file where that is not the one that is looked at.
  std::string label;
};

struct LayerPass {
  int layer = 0, step = 0;
  friend auto operator<=>(const LayerPass&, const LayerPass&) = default;
};
bool has_run(const StrategyResult& strategy, LayerPass pass);

// The strategy whose ranks wait longest for a late peer, mean over ranks and of all layer passes; nullptr where none of
// them waits for 1 % of its makespan.
const Chosen* waits_longest(std::span<const Chosen> strategies);

// What an explanation says of a strategy; nullptr where it says nothing of its times.
const StrategyExplanation* find_explained(const Explanation& all, const std::string& id);

// Whether a strategy is still there when a file was closed; it is given its new number.
bool outlives(StrategyKey& key, int closed_file);

struct Notice {
  std::string text;
  bool bad = false;
  std::int64_t at_ns = 0;
};

class Session {
 public:
  // `threads`, `wake` and `most_answers`: of the workers.
  Session(Settings settings, int threads, std::function<void()> wake, int most_answers)
      : settings_(std::move(settings)), workers_(threads, std::move(wake), most_answers) {}

  Settings& settings() { return settings_; }
  const Settings& settings() const { return settings_; }

  // -- files
  void open(const std::string& path);
  void close(int file);
  // `forget`: called with the number of each file that is closed, for those who keep keys of strategies (outlives()).
  void on_close(std::function<void(int file)> forget) { on_close_ = std::move(forget); }
  void reload(int file);
  const std::vector<std::unique_ptr<OpenFile>>& files() const { return files_; }
  bool any_loading() const;
  // Looks whether files changed on disk. Whether one did.
  bool look_at_disk();

  // -- scope
  const Scope& scope() const { return scope_; }
  void set_scope(Scope scope);
  // Looks at one file, or at all.
  void look_at(std::optional<int> file);
  // Whether a file is looked at.
  bool in_scope(int file) const { return !scope_.file || *scope_.file == file; }
  // The file that is looked at; of all files the first one that was read, of those that are still read the first.
  // REQUIRES: a file is open.
  int active_file() const;
  // Strategies that a link names by their labels become those, unknown ones are said; of files that were read.
  void settle_names();
  // Strategies of all ready files, legal and with times first come those of the first file.
  std::vector<Chosen> all_strategies() const;
  std::vector<Chosen> chosen() const;
  std::optional<Chosen> find(const StrategyKey& key) const;
  // Layer passes that any chosen strategy has run, by denoise step and layer.
  std::vector<LayerPass> passes() const;
  // The one that is looked at: of the scope where a chosen strategy has run it, else the slowest. Absent without any.
  std::optional<LayerPass> pass() const;
  // Chosen strategies that have run it.
  std::vector<Chosen> chosen_in_pass() const;
  // Of the chosen strategies together (backend/analysis/slowest_pass.h).
  std::optional<LayerPass> slowest_pass() const;
  // Of a chosen strategy in the layer pass that is looked at; asks for it where it is not there yet.
  using PassSlot = QuerySlot<PassData>;
  PassSlot& pass_data(const Chosen& chosen);
  PassSlot& pass_data(const Chosen& chosen, LayerPass pass);
  // What explains the layer pass that is looked at under all strategies of a file, with what edits would change; asks
  // for it where it is not there yet. nullptr while the file is read again: strategies are those of its old content.
  using ExplanationSlot = QuerySlot<Explanation>;
  ExplanationSlot* explanation(const Chosen& chosen);

  // -- selection, places, history
  const Selection& selection() const { return selection_; }
  void select(Selection selection);
  const std::string& view() const { return view_; }
  Link here() const;
  // Opens the files that are not open, then goes there.
  void go(const Link& link);
  // Opens a file and looks at it, at all of it.
  void go_to_file(const std::string& path, const std::string& view = "overview");
  void show(const std::string& view);
  void go_back();
  void go_forward();

  // Shows the run that writes `out`: the view that follows runs takes it.
  void show_run(const std::string& out) {
    wanted_run_ = out;
    show("run");
  }
  std::string take_wanted_run() { return std::exchange(wanted_run_, ""); }
  // Shows what is to run, as the file of a preset says it.
  void show_preset(const std::string& path) {
    wanted_preset_ = path;
    show("run");
  }
  std::string take_wanted_preset() { return std::exchange(wanted_preset_, ""); }

  // -- words for the user
  void notice(std::string text, bool bad = false);
  const std::vector<Notice>& notices() const { return notices_; }

  Workers& workers() { return workers_; }
  // Grows with each change of files, scope or selection.
  int revision() const { return revision_; }

 private:
  void forget(int file);
  StrategyKey settled(StrategyKey key);
  void remember();
  void restore(const Link& link);

  Settings settings_;
  std::vector<std::unique_ptr<OpenFile>> files_;
  Scope scope_;
  Selection selection_;
  std::string view_ = "start", wanted_run_, wanted_preset_;
  std::vector<Link> back_, forward_;
  std::vector<Notice> notices_;
  struct Kept {
    PassSlot slot;
    std::int64_t used = 0;
  };
  std::map<std::string, std::unique_ptr<Kept>> passes_;
  std::map<std::string, std::unique_ptr<ExplanationSlot>> explained_;  // by path
  std::int64_t uses_ = 0;
  int revision_ = 0, generations_ = 0;
  std::function<void(int)> on_close_;
  Workers workers_;  // last: its threads end before what they answer to
};

}  // namespace spscope::gui
