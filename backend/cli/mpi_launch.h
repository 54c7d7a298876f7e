// Starting ranks as processes: `spscope run --launcher mpi` runs itself under mpirun, once for each rank.
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
  bool root = false;  // mpirun refuses to run as root unless it is told to
};

// The command that starts the ranks with Open MPI, on this host.
std::vector<std::string> mpirun_command(const MpiLaunch& launch);

// How the ranks ended.
struct LaunchEnd {
  int exit_code = 0;  // of the first process that failed
  int signal = 0;     // that killed a rank; 0: none
};

// Runs a command in a process group of its own, which ends when this process does, and waits for it. Once `stop` is set
// every rank is asked to stop (SIGUSR1). `meanwhile` is called every 20 ms. Throws Error(kLaunch) when it cannot be
// started.
LaunchEnd run_ranks(const std::vector<std::string>& command, const std::atomic<bool>& stop,
                    const std::function<void()>& meanwhile);

// The program of this process, as a path that a child can start. Throws Error(kLaunch).
std::string path_of_this_program();

}  // namespace spscope
