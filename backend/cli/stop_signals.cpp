#include "backend/cli/stop_signals.h"

#include <unistd.h>

#include <csignal>
#include <string_view>

namespace spscope {
namespace {

std::atomic<bool> requested{false};
std::atomic<int> first_signal{0};
// Whether a signal is answered on stderr: not between JSON lines.
std::atomic<bool> answered{false};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

void on_signal(int signal) {
  int none = 0;
  if (!first_signal.compare_exchange_strong(none, signal)) {  // the second one
    ::signal(signal, SIG_DFL);
    ::raise(signal);  // taken when this handler returns
    return;
  }
  requested.store(true);
  constexpr std::string_view kAnswer = "\nstopping...\n";
  if (answered.load() && ::write(STDERR_FILENO, kAnswer.data(), kAnswer.size()) < 0) return;  // nobody to tell
}

}  // namespace

const std::atomic<bool>& watch_stop_signals(bool answer) {
  answered = answer;
  struct sigaction action {};
  action.sa_handler = on_signal;
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) ::sigaction(signal, &action, nullptr);
  struct sigaction hangup {};
  ::sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) ::sigaction(SIGHUP, &action, nullptr);  // else nohup wants it to be ignored
  for (const int signal : {SIGXFSZ, SIGPIPE}) ::signal(signal, SIG_IGN);
  return requested;
}

void request_stop() { requested.store(true); }

int stop_signal() { return first_signal.load(); }

}  // namespace spscope
