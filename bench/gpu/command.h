// Programs that a check starts, as children of this process.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

namespace spscope::gpu_check {

struct CommandEnd {
  int exit_code = -1;  // 128 + N of a program that signal N ended
  bool found = true;   // false: there is no such program
  bool timed_out = false;
  bool hangs = false;  // it was killed and is still there, as where a driver does not come back
};

struct CommandOptions {
  std::string output = {};  // the file that gets what the program prints on stdout, and on stderr
  std::string error = {};   // "" : stderr goes to `output`, too
  double timeout_s = 600;   // then it is killed
  // With its own children: in a process group of its own, which is killed with it, also when `stopping` is set.
  bool own_group = false;
  const std::atomic<bool>* stopping = nullptr;
};

// Looks for the program on the path unless its name has a slash. Throws Error when nothing can be started.
CommandEnd run_command(const std::vector<std::string>& command, const CommandOptions& options);

// The end of a text file, for messages; "" when it cannot be read.
std::string tail_of(const std::string& path, std::size_t num_bytes = 400);
std::string text_of(const std::string& path);

// A program that answers lines with lines, as a peer that takes turns does.
class Conversation {
 public:
  // Throws Error.
  Conversation(const std::vector<std::string>& command, const std::string& error_file);
  ~Conversation();  // closes its input and waits for its end
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;

  // The next line that it prints; nothing once it has closed its output, after a wait for its end.
  std::optional<std::string> read_line();
  void write_line(const std::string& line);
  // How it ended, as "signal 9" or "exit code 1"; "" while it runs.
  std::string end_if_ended();

 private:
  std::string take_end(int wait_flags);

  int pid_ = -1, input_ = -1, output_ = -1;
  std::string pending_, end_;
};

}  // namespace spscope::gpu_check
