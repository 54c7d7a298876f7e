// Whether a process computes: on numbers made by hand, and on threads of this process.
#include "backend/record/computing.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace spscope {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

TEST(Computing, CountsTheThreadThatRanMostOfTheTimeInWhichItCouldHaveRun) {
  const ThreadTable before = {{1, {5 * kSecond, kSecond}}, {2, {0, 0}}};
  const auto after = [&](std::int64_t ran_ns, std::int64_t waited_ns) {
    return ThreadTable{{1, {5 * kSecond + ran_ns, kSecond + waited_ns}}, {2, {0, 0}}};
  };
  EXPECT_EQ(has_computed(before, after(3 * kSecond, 0), 10 * kSecond), true);
  EXPECT_EQ(has_computed(before, after(2 * kSecond, 0), 10 * kSecond), false);
  EXPECT_EQ(has_computed(before, after(2 * kSecond, 5 * kSecond), 10 * kSecond), true) << "the machine is busy";
  EXPECT_EQ(has_computed(before, after(1'000'000, 9'999'000'000), 10 * kSecond), false) << "too little to tell";
  EXPECT_EQ(has_computed(before, {{3, {9 * kSecond, 0}}}, 10 * kSecond), false) << "another thread";
}

TEST(Computing, ManyThreadsThatPollDoNotAddUp) {
  ThreadTable before, after;
  for (int id = 1; id <= 16; ++id) before[id] = {}, after[id] = {kSecond, 0};
  EXPECT_EQ(has_computed(before, after, 10 * kSecond), false);
}

TEST(Computing, NothingIsKnownOfAProcessThatIsGone) {
  EXPECT_EQ(has_computed({{1, {}}}, {}, kSecond), std::nullopt);
  EXPECT_EQ(has_computed({}, {{1, {}}}, kSecond), std::nullopt);
}

// Of this process: the caller's own thread does not count.
TEST(Computing, TellsAThreadThatComputesFromThoseThatSleep) {
  std::atomic<int> todo{0};  // 0 sleep often, as who waits does; 1 compute; 2 end
  std::thread worker([&] {
    while (todo != 2)
      if (todo == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  // Process 0 has no entry in /proc.
  const auto here_computes = [] { return which_compute(std::vector<int>{0, ::getpid()}, 1); };
  EXPECT_EQ(here_computes().front(), std::nullopt);
  EXPECT_EQ(here_computes().back(), false);
  todo = 1;
  EXPECT_EQ(here_computes().back(), true);
  todo = 2;
  worker.join();
}

}  // namespace
}  // namespace spscope
