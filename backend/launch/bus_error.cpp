#include "backend/launch/bus_error.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <string_view>

#include "backend/base/exit_code.h"

namespace spscope {
namespace {

// In a signal handler: no memory is allocated, no lock taken.
void on_bus_error(int signal, siginfo_t* info, void*) {
  if (info->si_code != BUS_ADRERR) {  // sent, as by kill, or another fault
    ::signal(signal, SIG_DFL);
    ::raise(signal);  // comes when this handler returns
    return;
  }
  constexpr std::string_view kText =
      "\nerror SPS-154: a file that is mapped into memory cannot be read or written to its end: most often its disk, a "
      "quota or /dev/shm is full\n  free space there; unless the run still makes its file, spscope recover OUT -o "
      "FILE.db keeps what was committed\n";
  static std::atomic_flag told;
  while (told.test_and_set()) ::pause();  // another thread tells it, and ends the process
  [[maybe_unused]] const ssize_t length = ::write(STDERR_FILENO, kText.data(), kText.size());
  ::_exit(kExitFailed);
}

}  // namespace

void explain_bus_errors() {
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &action, nullptr);
}

}  // namespace spscope
