#include "backend/launch/stop_signals.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <initializer_list>

namespace spscope {
namespace {

// In a process of its own: takes the signals and ends with the first one, or is ended by one of them.
[[noreturn]] void take(std::initializer_list<int> at_once, std::initializer_list<int> later) {
  const std::atomic<bool>& stop = watch_stop_signals(false);
  if (stop || stop_signal() != 0) ::_exit(1);
  for (const int signal : at_once) ::raise(signal);
  if (later.size() > 0) ::usleep(1'010'000);
  for (const int signal : later) ::raise(signal);
  ::_exit(stop ? stop_signal() : 1);
}

using ::testing::ExitedWithCode;
using ::testing::KilledBySignal;

TEST(StopSignals, ThatOfAPersonASecondLaterEndsTheProgram) {
  EXPECT_EXIT(take({SIGINT}, {SIGINT}), KilledBySignal(SIGINT), "");
}

TEST(StopSignals, ThoseOfASystemOrAnotherOneASecondLaterDoNot) {
  EXPECT_EXIT(take({SIGUSR1, SIGHUP, SIGTERM}, {SIGUSR1, SIGHUP, SIGINT}), ExitedWithCode(SIGUSR1), "");
}

TEST(StopSignals, OneThatALauncherPassesOnHasNoName) {
  const auto passed_on = [](int signal) {
    const std::atomic<bool>& stop = watch_stop_signals(false);
    take_stops_of_launcher();
    ::raise(signal);
    ::_exit(stop ? 100 + stop_signal() : 1);
  };
  EXPECT_EXIT(passed_on(SIGUSR1), ExitedWithCode(100), "");
  EXPECT_EXIT(passed_on(SIGTERM), ExitedWithCode(100 + SIGTERM), "");
}

}  // namespace
}  // namespace spscope
