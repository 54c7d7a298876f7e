// KeptQueue: runs that wait in the queue of a window, in a file of the settings folder, so that the next window can
// offer them when this one was closed or killed before they began. Each window has a file of its own.
#pragma once

#include <string>
#include <vector>

#include "gui/launch/run_queue.h"

namespace spscope::gui {

struct KeptRun {
  std::string title, out;
  std::vector<std::string> words;
  friend bool operator==(const KeptRun&, const KeptRun&) = default;
};

class KeptQueue {
 public:
  // `folder`: of the settings; "": nothing is kept.
  explicit KeptQueue(std::string folder) : folder_(std::move(folder)) {}

  // Writes those that wait when they are others than before; none: removes the file. Why it was not written; "" when
  // it was, or when it was said before.
  std::string keep(const std::vector<QueuedRun>& runs);
  // Those of windows that are gone, oldest window first. Whatever a file says, the first word of each is `program`, and
  // the second is a command that the window itself puts into its queue.
  std::vector<KeptRun> left(const std::string& program) const;
  // The same, and their files are removed: no other window offers them then.
  std::vector<KeptRun> take_left(const std::string& program) const;

 private:
  std::string path() const;
  std::vector<std::string> files_of_gone_windows() const;

  std::string folder_;
  std::vector<KeptRun> kept_;
  bool said_ = false;
};

}  // namespace spscope::gui
