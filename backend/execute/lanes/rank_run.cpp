#include "backend/execute/lanes/rank_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <system_error>
#include <thread>

#include "backend/base/clock.h"
#include "backend/record/computing.h"

namespace spscope {
namespace {

constexpr auto kPoll = std::chrono::milliseconds(20);  // how late an interrupt may be seen; costs nothing measurable
constexpr std::int64_t kLookEveryNs = 10'000'000;
constexpr std::int64_t kStoppedNs = 1'000'000'000;  // without a poll: longer than a busy machine makes one wait

StopReason interruption() { return {ErrorCode::kInterrupted, {-1, -1, kNone, false, "the run was interrupted"}}; }

double seconds_since(std::int64_t start_ns) { return static_cast<double>(now_ns() - start_ns) * 1e-9; }

SystemView system_of(const RankRun& run) {
  SystemView system = run.system;
  if (!system.computes)  // all ranks are threads of this process
    system.computes = [&run](std::span<const int> ranks) {
      const int pid = ::getpid();
      return std::vector(ranks.size(), which_compute({&pid, 1}, run.options.watchdog_seconds).front());
    };
  return system;
}

// Returns whether all threads have left; false: some did not within the grace period. A hang or an interrupt stops the
// run.
bool watch(RankRun& run, std::size_t num_threads) {
  ProgressWatch progress(run, run.options.watchdog_seconds);
  std::unique_lock lock(run.mutex);
  for (;;) {
    if (run.thread_left.wait_for(lock, kPoll, [&] { return run.threads_left == num_threads; })) return true;
    if (!run.control->stopping() && interrupted(run.options)) run.control->stop(interruption());
    if (progress.look()) return false;
  }
}

// A thread for each main, waiting for may_start. Throws Error(kRankFailed) when the machine has no more threads to
// give.
std::vector<std::thread> make_threads(const std::shared_ptr<RankRun>& run, std::vector<std::function<void()>> mains) {
  run->may_start = false;
  run->threads_left = 0;
  std::vector<std::thread> threads;
  try {
    for (std::function<void()>& main : mains)
      threads.emplace_back([run, main = std::move(main)] {
        run->may_start.wait(false);
        main();
        const std::lock_guard lock(run->mutex);
        ++run->threads_left;
        run->thread_left.notify_all();
      });
  } catch (const std::system_error& error) {  // those that started must not be left waiting
    const Error reason(
        ErrorCode::kRankFailed,
        fmt::format("thread {} of {} cannot be started: {}", threads.size() + 1, mains.size(), error.what()),
        "use fewer ranks, or mode = \"project\", which runs one rank at a time");
    run->control->stop({reason.code(), {-1, -1, kNone, false, reason.what()}});
    run->may_start = true;
    run->may_start.notify_all();
    for (std::thread& thread : threads) thread.join();
    throw reason;
  }
  return threads;
}

}  // namespace

// Nobody has made progress for long.
void ProgressWatch::judge() {
  const SystemView system = system_of(run_);
  const std::vector<StuckLane> stuck = run_.control->find_stuck(system);
  if (stuck.empty() || run_.control->progress() != progress_) return;  // it may have taken seconds to find out
  if (stuck.front().trouble == RankTrouble::kSlow)
    progress_ns_ = looked_ns_;  // it may take as long again
  else
    run_.control->stop({ErrorCode::kRankHung, run_.control->describe_hang(stuck, seconds_since(progress_ns_), system)});
}

bool ProgressWatch::look() {
  RunControl& control = *run_.control;
  const std::int64_t gap_ns = looked_ns_ == 0 ? 0 : now_ns() - looked_ns_;
  if (looked_ns_ != 0 && gap_ns < kLookEveryNs) return false;
  looked_ns_ = now_ns();
  if (const std::int64_t now = control.progress(); now != progress_) progress_ = now, progress_ns_ = looked_ns_;
  // Time in which this process was stopped itself says nothing about others.
  if (gap_ns > kStoppedNs) progress_ns_ += gap_ns;
  if (!control.stopping() && seconds_since(progress_ns_) > patience_seconds_) judge();
  if (!control.stopping() && control.reason()) control.stop();  // another process
  if (!control.stopping()) return false;
  if (stopped_ns_ == 0) stopped_ns_ = now_ns();
  return seconds_since(stopped_ns_) > run_.options.grace_seconds;
}

bool interrupted(const ExecuteOptions& options) { return options.interrupt != nullptr && options.interrupt->load(); }

Timeline timeline_since(std::int64_t start_ns, std::vector<OpTimes> raw_times) {
  for (OpTimes& t : raw_times) t.post_ns -= start_ns, t.begin_ns -= start_ns, t.end_ns -= start_ns;
  return {std::move(raw_times)};
}

std::int64_t run_threads(const std::shared_ptr<RankRun>& run, std::vector<std::function<void()>> mains, int repeat,
                         const std::function<void()>& meet) {
  OpRecorder* const recorder = run->options.recorder;
  std::vector<std::thread> threads = make_threads(run, std::move(mains));
  if (meet) meet();
  if (interrupted(run->options)) run->control->stop(interruption());
  if (recorder != nullptr) recorder->begin_repeat(repeat);
  run->control->begin_repeat(recorder != nullptr ? recorder->run() : RunId{}, repeat);
  const std::int64_t start_ns = now_ns();
  run->may_start = true;
  run->may_start.notify_all();
  const bool all_left = run->all_left = watch(*run, threads.size());
  for (std::thread& thread : threads) all_left ? thread.join() : thread.detach();
  const std::optional<StopReason> reason = run->control->await_reason(run->options.grace_seconds);
  if (recorder != nullptr) {
    if (reason && reason->code != ErrorCode::kInterrupted) recorder->fault(reason->fault);
    recorder->end_repeat();
  }
  if (reason) throw reason->error();
  return start_ns;
}

}  // namespace spscope
