// WatchedProgram: the program that `spscope attach` starts. It is in the same process group and has the same terminal
// and files, so that what a terminal sends (Ctrl+C, Ctrl+Z, a new size) reaches it as if attach were not there; signals
// that somebody sends to attach alone are passed on.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace spscope {

// Throws Error(kLaunch), as the start of the program would: nothing of this name can be started.
void require_program(const std::string& name);

class WatchedProgram {
 public:
  // Starts it, with these variables in its environment and with signals as this process had them before it blocked or
  // ignored any; of signals that attach gets, `own_signal` is not passed on. SIGCHLD is not ignored here from now on.
  // From now on this thread, and those that it starts, take signals only by answer_signals(), and none at all once this
  // is gone: a second Ctrl+C would end the writing of the file. This process, and not the program, may then open as
  // many files as the hard limit says. Throws Error(kLaunch).
  WatchedProgram(const std::vector<std::string>& command,
                 const std::vector<std::pair<std::string, std::string>>& variables, int own_signal = 0);
  ~WatchedProgram();
  WatchedProgram(const WatchedProgram&) = delete;
  WatchedProgram& operator=(const WatchedProgram&) = delete;

  int descriptor() const { return signals_; }  // readable when signals wait
  // Passes signals on, and looks whether the program has ended.
  void answer_signals();
  // How often the own signal came since it was last asked.
  int take_own_signals() { return std::exchange(own_signals_, 0); }
  // How it ended, as waitpid(2) says; nothing while it runs.
  std::optional<int> end() const { return end_; }
  pid_t pid() const { return pid_; }

 private:
  bool has_ended();  // asks the kernel

  pid_t pid_ = -1;
  int signals_ = -1;
  const int own_signal_;
  int own_signals_ = 0;
  std::optional<int> end_;
};

// The exit code of the program; of one that a signal ended, 128 and its number, as shells say it.
int exit_code_of(int wait_status);
std::string signal_name(int signal);  // "SIGKILL"
// Ends this process as the program ended: by the same signal, without a core file, or by returning its exit code.
int end_like(int wait_status);

}  // namespace spscope
