// mpirun: starts the processes of ranks, waits for them, and leaves nothing of them behind.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

namespace spscope {

struct MpiLaunch {
  std::string program;                 // of this process
  std::vector<std::string> arguments;  // of each rank's process
  int ranks = 1;
  bool root = false;  // mpirun refuses to run as root without a flag
  // Whether ranks of other hosts may be at work still, of which nothing is seen here. Empty: there are none.
  std::function<bool()> others_work;
  // For mpirun to end when all ranks of this host have, and while others may work.
  double alone_seconds = 0, others_seconds = 0;
};

// Throws Error(kLaunch) when a program that starts the ranks is not there.
void require_mpirun();

// The command that starts the ranks with Open MPI, on this host.
std::vector<std::string> mpirun_command(const MpiLaunch& launch);

// How the ranks ended.
struct LaunchEnd {
  int exit_code = 0;         // of the first process that failed
  int signal = 0;            // that killed a rank; 0: none
  bool mpirun_died = false;  // of that signal, and the ranks with it
  bool mpirun_hung = false;  // when the ranks had ended, and was killed: it returned neither code nor signal
};

// Starts the ranks, each process of them in the end a child of mpirun or of this process, and waits for them. Once
// `stop` is set every rank is asked to stop (SIGUSR1). `meanwhile` is called every 20 ms; once it says false the ranks
// are asked to stop, and 10 s later ended. An mpirun that has not ended `alone_seconds` after all ranks of this host is
// killed: that of PMIx 4.2 sometimes waits for a lock of its own. When this returns, no rank runs and nothing of Open
// MPI is left on this host; children that this process had before go on. Throws Error(kLaunch) when mpirun cannot be
// started.
LaunchEnd run_mpirun(const MpiLaunch& launch, const std::atomic<bool>& stop, const std::function<bool()>& meanwhile);

// The program of this process, as a path that a child can start. Throws Error(kLaunch).
std::string path_of_this_program();

}  // namespace spscope
