#include "backend/launch/stop_signals.h"

#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <string_view>

#include "backend/base/clock.h"

namespace spscope {
namespace {

std::atomic<bool> requested{false};
std::atomic<int> first_signal{0};
std::atomic<bool> launched{false};
// Whether a signal is answered on stderr: not between JSON lines.
std::atomic<bool> answered{false};
// When each of the signals that a person repeats came first; 0: not yet.
std::atomic<std::int64_t> first_interrupt_ns{0}, first_terminate_ns{0};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free &&
              std::atomic<std::int64_t>::is_always_lock_free);

// Systems send more than one signal at once, and the same one to a process and to what started it, which passes it on.
constexpr std::int64_t kAgainNs = 1'000'000'000;

bool insists(int signal) {
  if (signal != SIGINT && signal != SIGTERM) return false;
  std::int64_t first_ns = 0;
  std::atomic<std::int64_t>& known_ns = signal == SIGINT ? first_interrupt_ns : first_terminate_ns;
  const std::int64_t time_ns = now_ns();
  return !known_ns.compare_exchange_strong(first_ns, time_ns) && time_ns - first_ns >= kAgainNs;
}

void on_signal(int signal) {
  if (insists(signal)) {
    ::signal(signal, SIG_DFL);
    ::raise(signal);  // taken when this handler returns
    return;
  }
  int none = 0;
  if (!first_signal.compare_exchange_strong(none, signal)) return;
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

void take_stops_of_launcher() { launched = true; }

int stop_signal() { return launched && first_signal == SIGUSR1 ? 0 : first_signal.load(); }

}  // namespace spscope
