// RunQueue: what the window asked `spscope` to do, one after the other, each as a child of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/collect/run_progress.h"
#include "gui/launch/child.h"

namespace spscope::gui {

enum class RunState { kWaiting, kRunning, kStopping, kDone, kFailed, kStopped, kCancelled };
std::string_view run_state_name(RunState state);

struct QueuedRun {
  int number = 0;     // from 1, never used again
  std::string title;  // "run here.db"
  std::vector<std::string> words;
  std::string out;  // absolute; "": nothing is kept
  RunState state = RunState::kWaiting;
  std::optional<RunProgress> progress;  // as the child said it last
  std::string said;                     // the last line that it wrote beside its progress
  std::vector<std::string> notes;       // what it said beside its result: warnings, problems of the config
  std::string printed;                  // its result, as text
  std::string why, hint;                // why it failed, and how to mend it
  std::optional<ChildEnd> end;
  std::int64_t begin_ns = 0, stop_asked_ns = 0;
  bool goes_on() const { return state == RunState::kRunning || state == RunState::kStopping; }
  // Whether a second signal would end it at once: the program takes one a second after the first.
  bool can_stop_now(std::int64_t now_ns) const;
};

class RunQueue {
 public:
  // `words`: the command, with the program in front. Of a run progress is asked for as JSON, of advice the answer.
  // Returns its number.
  int add(std::string title, std::vector<std::string> words, std::string out);
  // Once a frame: takes over what the child said, and starts the next one. Whether something changed.
  bool poll();
  // A run that waits is cancelled; one that goes on is asked to stop and merge (SIGTERM), and by a second call at least
  // a second later to stop at once. Nothing is ever killed.
  void stop(int number);
  // Takes one that has ended, or waits, out of the list.
  void remove(int number);

  const std::vector<QueuedRun>& runs() const { return runs_; }
  const QueuedRun* find(int number) const;
  // The run that goes on; nullptr for none.
  const QueuedRun* current() const;
  bool busy() const { return current() != nullptr; }
  // No further run begins.
  void hold() { held_ = true; }
  void release() { held_ = false; }

 private:
  QueuedRun* at(int number);
  void finish(QueuedRun& run);

  std::vector<QueuedRun> runs_;
  std::unique_ptr<Child> child_;  // of current()
  std::size_t read_ = 0;          // bytes of its errors that were taken apart
  int last_number_ = 0;
  bool held_ = false;
};

// What an object of the JSON lines of `run` says.
RunProgress progress_of(const Json& line);

}  // namespace spscope::gui
