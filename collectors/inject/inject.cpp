#include "collectors/inject/inject.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "backend/base/clock.h"
#include "backend/base/result.h"
#include "backend/record/shared_trace_sink.h"
#include "collectors/inject/connection.h"
#include "collectors/inject/launcher_variables.h"
#include "collectors/nccl/plugin/plugin.h"
#include "collectors/signals_blocked.h"

namespace spscope::inject {
namespace {

constexpr int kTellCostsMs = 1000;  // what collectors took is known so far when the process is killed

// What is not collected, and what to do, as a line.
std::string text_of(const Error& error) {
  return error.hint().empty() ? std::string(error.what()) : error.what() + ("; " + error.hint());
}

class Injected {
 public:
  explicit Injected(const Connection& connection)
      : connection_(connection), sink_(connection.memory()), windows_(connection.memory().windows) {}

  void start() {
    tell_rank();
    // attach knows what the process is called and which rank it is, and names its tracks.
    CollectedProcess process = {.process = "attached"};
    if (windows_.when() != CollectWhen::kAlways) process.windows = &windows_;
    if (windows_.when() == CollectWhen::kInProfilerRanges)
      process.on_profiler_call = [this](bool starts) { profiler_called(starts); };
    for (const InjectedCollector& row : injected_collectors()) {
      std::unique_ptr<Collector> collector;
      if (const std::optional<Error> failed = failure_of([&] { collector = row.start(sink_, process); }))
        note(row.name, text_of(*failed), sink_.not_started(row.name));
      else
        collectors_.push_back({row.name, std::move(collector), sink_.collector(row.name)});
    }
    tell_notes();
    {
      const std::lock_guard lock(window_mutex_);
      may_turn_ = process.windows != nullptr;
    }
    follow_windows();
    std::thread([this] {
      while (!connection_.wait_for_end(next_look_ms())) {
        follow_windows();
        tell_costs();
      }
      end();
    }).detach();
  }

  // By a thread of the program (launcher_variables.h).
  void tell_rank() noexcept {
    const std::lock_guard lock(variables_mutex_);
    static_cast<void>(failure_of([this] {
      for (const RankClaim& claim : variables_.changes()) sink_.claim_rank(claim);
    }));
  }

  // What collectors still have is in the memory before the connection ends.
  void end() noexcept {
    {
      const std::lock_guard lock(window_mutex_);
      may_turn_ = false;
    }
    const std::lock_guard lock(mutex_);
    if (ended_ || ::getpid() != pid_) return;
    ended_ = true;
    for (const Started& one : collectors_)
      if (const std::optional<Error> failed = failure_of([&] { one.collector->stop(); }))
        note(one.name, text_of(*failed), one.number);
    static_cast<void>(failure_of([this] { tell_notes(); }));
    store_costs();
    connection_.close();
  }

  void leave_to_parent() noexcept { connection_.leave_to_parent(); }

 private:
  struct Started {
    std::string_view name;
    std::unique_ptr<Collector> collector;
    std::optional<std::uint32_t> number;  // in the sink
  };
  void note(std::string_view name, const std::string& text, std::optional<std::uint32_t> number = {}) {
    std::string line = std::string(name) + ": " + text;
    if (told_.insert(line).second) sink_.note(line, number);
  }
  void tell_notes() {
    for (const Started& one : collectors_)
      for (const std::string& text : one.collector->notes()) note(one.name, text, one.number);
  }
  // While no window is near, collectors rest.
  void turn(bool on) noexcept {
    if (!may_turn_ || std::exchange(are_on_, on) == on) return;
    for (const Started& one : collectors_) on ? one.collector->resume() : one.collector->pause();
  }
  void follow_windows() {
    const std::lock_guard lock(window_mutex_);
    const bool was_on = are_on_;
    turn(windows_.need_events(now_ns()));
    const std::int64_t late_ns = are_on_ && !was_on ? now_ns() - windows_.newest()->begin_ns : 0;
    if (late_ns > 0)
      sink_.note("it began to collect " + std::to_string(late_ns / 1'000'000 + 1) +
                 " ms after the window had opened; leave the program a free core");
  }
  // By the thread of the program that calls.
  void profiler_called(bool starts) noexcept {
    if (::getpid() != pid_) return;
    const std::lock_guard lock(window_mutex_);
    if (!starts) return windows_.close(now_ns());
    turn(true);
    windows_.open(now_ns());
  }
  int next_look_ms() const {
    constexpr std::int64_t kMostNs = std::int64_t{kTellCostsMs} * 1'000'000;
    const std::int64_t now = now_ns();
    return static_cast<int>((std::min(windows_.next_change_ns(now) - now, kMostNs) + 999'999) / 1'000'000);
  }
  void tell_costs() {
    const std::lock_guard lock(mutex_);
    if (!ended_) store_costs();
  }
  void store_costs() noexcept {
    for (const Started& one : collectors_)
      if (one.number) sink_.set_cost(*one.number, one.collector->cost(), ended_);
  }

  const Connection connection_;
  const pid_t pid_ = ::getpid();
  SharedTraceSink sink_;
  std::mutex variables_mutex_;  // of what follows
  LauncherVariables variables_;
  CollectWindows& windows_;
  std::mutex window_mutex_;                // of the next two, and of turning collectors on and off
  bool may_turn_ = false, are_on_ = true;  // collectors begin at work
  std::mutex mutex_;                       // of what follows
  bool ended_ = false;
  std::vector<Started> collectors_;
  std::set<std::string> told_;
};

// Never destroyed: threads of CUPTI, of NCCL and of the program use it until the process is gone.
Injected* injected = nullptr;
std::mutex begin_mutex;  // of what follows
bool has_begun = false;
thread_local bool begins = false;  // in this thread, which may come here again: CUPTI may start the driver
bool is_child = false;             // of the fork of a process that collects

void begin_here() {
  const SignalsBlocked blocked;  // one that came while it waits for an answer would end that
  std::optional<Connection> connection = Connection::open();
  if (!connection) return;
  injected = std::make_unique<Injected>(*connection).release();
  ::pthread_atfork(nullptr, nullptr, [] {
    if (!is_child) injected->leave_to_parent();
    is_child = true;
  });
  injected->start();
  // After the driver's own, and so called before them, while it can still be asked for what it holds.
  std::atexit([] {
    if (is_child) return;
    injected->tell_rank();
    injected->end();
  });
}

// The driver's own locks are held: it does not wait for a thread that may need them.
enum class WhileOtherBegins : std::uint8_t { kWait, kLeave };

bool begin(WhileOtherBegins what) noexcept {
  if (is_child || begins) return false;
  std::unique_lock lock(begin_mutex, std::defer_lock);
  if (what == WhileOtherBegins::kWait)
    lock.lock();
  else if (!lock.try_lock())
    return false;
  if (!has_begun) {
    has_begun = begins = true;
    // Where it fails the program goes on without.
    static_cast<void>(failure_of(begin_here));
    begins = false;
  }
  return injected != nullptr;
}

}  // namespace
}  // namespace spscope::inject

namespace spscope::nccl {

bool collects_from_now_on() noexcept {
  const bool collects = inject::begin(inject::WhileOtherBegins::kWait);
  if (collects) inject::injected->tell_rank();
  return collects;
}
bool still_collects() noexcept { return inject::injected != nullptr && !inject::is_child; }

}  // namespace spscope::nccl

// The CUDA driver calls it in cuInit, by CUDA_INJECTION64_PATH; what it returns is not looked at.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  return spscope::inject::begin(spscope::inject::WhileOtherBegins::kLeave);
}
