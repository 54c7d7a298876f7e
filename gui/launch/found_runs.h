// Runs that a window did not start, or has left running: found by the notes that they keep beside their outputs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/record/collecting_note.h"
#include "gui/session/query_slot.h"
#include "gui/session/session.h"

namespace spscope::gui {

// Where to look: the current folder, those that runs were written to, and those of recent files.
std::vector<std::string> folders_of_runs(const Settings& settings);

struct FoundRun {
  CollectingNote note;
  CollectorState state = CollectorState::kElsewhere;
};
// Of all notes in these folders (not below them), by output. Notes that cannot be read are left out, and runs that
// ended and left nothing to recover, or were recovered.
std::vector<FoundRun> find_runs(const std::vector<std::string>& folders);

// Looks for them on a thread of the workers, at most every two seconds while frames are drawn.
class RunFinder {
 public:
  const std::vector<FoundRun>& look(Session& session);
  // The next look is at once.
  void again() { looked_ns_ = 0; }

 private:
  QuerySlot<std::vector<FoundRun>> found_;
  std::int64_t looked_ns_ = 0;
};

// Asks the process of a run to stop and keep what is complete: SIGTERM to it alone. Whether it still ran.
bool stop_run(const CollectingNote& note);

}  // namespace spscope::gui
