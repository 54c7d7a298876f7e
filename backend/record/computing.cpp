#include "backend/record/computing.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "backend/base/clock.h"

namespace spscope {

std::optional<bool> has_computed(const ThreadTable& before, const ThreadTable& after, std::int64_t window_ns) {
  constexpr std::int64_t kLeastNs = 2'000'000;  // what a thread that polls stays below, however busy the machine
  if (before.empty() || after.empty()) return std::nullopt;
  return std::ranges::any_of(before, [&](const auto& thread) {
    const auto now = after.find(thread.first);
    if (now == after.end()) return false;
    const std::int64_t ran_ns = now->second.ran_ns - thread.second.ran_ns;
    const std::int64_t waited_ns = now->second.waited_ns - thread.second.waited_ns;
    return ran_ns > kLeastNs &&
           static_cast<double>(ran_ns) > kComputingShare * static_cast<double>(window_ns - waited_ns);
  });
}

std::vector<std::optional<bool>> which_compute(std::span<const int> pids, double patience_seconds) {
  struct Sample {
    ThreadTable threads;
    std::int64_t taken_ns;
  };
  std::vector<Sample> before;
  for (const int pid : pids) before.push_back({read_threads(pid), now_ns()});
  for (Sample& sample : before) sample.threads.erase(::gettid());
  std::this_thread::sleep_for(std::chrono::duration<double>(std::clamp(patience_seconds / 2, 0.2, 2.0)));
  std::vector<std::optional<bool>> found;
  for (std::size_t i = 0; i < pids.size(); ++i) {
    const ThreadTable after = read_threads(pids[i]);
    found.push_back(has_computed(before[i].threads, after, now_ns() - before[i].taken_ns));
  }
  return found;
}

}  // namespace spscope
