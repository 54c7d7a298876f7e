// Child: a program that the window starts, such as `spscope run`. Its output goes to files in memory, not through
// pipes: a child never waits for the window to read, and is not ended by a signal when the window goes away.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "gui/session/workers.h"

namespace spscope::gui {

struct ChildEnd {
  int code = 0;    // exit code; of a child that a signal ended, 128 + signal
  int signal = 0;  // 0: it exited
};
// "exit code 2", "signal 9 (Killed)"
std::string end_text(const ChildEnd& end);

class Child {
 public:
  // Starts `arguments[0]`, found on the PATH when it has no slash, in a process group of its own and with standard
  // input at its end. Throws Error kLaunch when it cannot be started.
  explicit Child(const std::vector<std::string>& arguments);
  // A child that still runs goes on, as one that nobody waits for.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  // Takes over what it wrote and how it ended. Whether one of them is new.
  bool poll();
  // Nothing while it runs, as of the last poll().
  const std::optional<ChildEnd>& end() const { return end_; }
  // All that it wrote until the last poll().
  const std::string& output() const { return output_.text; }
  const std::string& errors() const { return errors_.text; }
  // Sends a signal to the child alone; nothing once it has ended.
  void signal(int number) const;

 private:
  struct Stream {
    int file = -1;
    std::string text;
    bool read();
  };
  pid_t pid_ = -1;
  Stream output_, errors_;
  std::optional<ChildEnd> end_;
};

struct ChildResult {
  ChildEnd end;
  std::string output, errors;
};
// Runs a child to its end, in a question of WorkKind::kChild; stops it with SIGTERM when the question is cancelled, as
// when the window closes.
ChildResult run_child(const std::vector<std::string>& arguments, const Cancelled& cancelled);

// The last `count` lines of a text that are not JSON, as the program writes its progress.
std::string last_words(const std::string& text, int count);

}  // namespace spscope::gui
