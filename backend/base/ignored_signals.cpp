#include "backend/base/ignored_signals.h"

#include <csignal>

namespace spscope {
namespace {

sigset_t had_usual_effect = {};

}  // namespace

void ignore_signal(int signal) {
  if (::signal(signal, SIG_IGN) == SIG_DFL) ::sigaddset(&had_usual_effect, signal);
}

void stop_ignoring_signals() {
  for (int signal = 1; signal < NSIG; ++signal)
    if (::sigismember(&had_usual_effect, signal) == 1) ::signal(signal, SIG_DFL);
}

}  // namespace spscope
