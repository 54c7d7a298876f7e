#include "collectors/inject/inject.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
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
        note(row.name, line_of(*failed), sink_.not_started(row.name));
      else
        collectors_.push_back({row.name, std::move(collector), sink_.collector(row.name)});
    }
    tell_notes();
    may_turn_ = process.windows != nullptr;
    follow_windows();
    const auto follow = [this] {
      while (!connection_.wait_for_end(next_look_ms())) {
        follow_windows();
        tell_costs();
      }
      end();
    };
    // Without that thread it is collected all the same, until its exit.
    if (const std::optional<Error> failed = failure_of([&] { std::thread(follow).detach(); }))
      sink_.note("it could start no thread that waits for windows and for the end of attach: " + line_of(*failed) +
                 "; raise the limit of processes (ulimit -u)");
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
    may_turn_ = false;
    while (turning_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const std::lock_guard lock(mutex_);
    if (ended_ || ::getpid() != pid_) return;
    ended_ = true;
    for (const Started& one : collectors_)
      if (const std::optional<Error> failed = failure_of([&] { one.collector->stop(); }))
        note(one.name, line_of(*failed), one.number);
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
  // While no window is near, collectors rest. Says whether it turned them on. Nobody waits in here, and no mutex is
  // held: the thread that turns them needs locks of CUPTI's, which a thread of the program holds in profiler_called().
  // A thread that finds another one turning leaves it to that one, which looks once more when it is done.
  bool turn() noexcept {
    bool turned_on = false;
    while (may_turn_ && is_wanted() != are_on_ && !turning_.exchange(true)) {
      const bool on = is_wanted();
      if (may_turn_ && are_on_.exchange(on) != on) {
        for (const Started& one : collectors_) on ? one.collector->resume() : one.collector->pause();
        turned_on = on;
      }
      turning_ = false;
    }
    return turned_on;
  }
  bool is_wanted() const noexcept { return num_opening_ > 0 || windows_.need_events(now_ns()); }
  void follow_windows() {
    const std::int64_t begin_ns = now_ns();
    const std::optional<CollectWindow> newest = turn() ? windows_.newest() : std::nullopt;
    // A window that had ended before is not the one that they are turned on for: that one has not been opened yet.
    const std::int64_t late_ns = newest && newest->end_ns > begin_ns ? now_ns() - newest->begin_ns : 0;
    if (late_ns > 0)
      sink_.note("it began to collect " + std::to_string(late_ns / 1'000'000 + 1) +
                 " ms after the window had opened; leave the program a free core");
  }
  // By the thread of the program that calls. Collectors are on before the window opens, unless another thread turns
  // them just then; that one says how late they were.
  void profiler_called(bool starts) noexcept {
    if (::getpid() != pid_) return;
    if (starts) {
      ++num_opening_;
      static_cast<void>(turn());
    }
    {
      const std::lock_guard lock(range_mutex_);
      starts ? windows_.open(now_ns()) : windows_.close(now_ns());
    }
    connection_.memory().reader.wake_from_sleep();  // attach opens a window for counters of the host
    num_opening_ -= starts;
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
  std::mutex range_mutex_;                            // of opening and closing ranges, and of nothing that calls CUPTI
  std::atomic<int> num_opening_{0};                   // threads that are about to open one
  std::atomic<bool> turning_{false};                  // a thread turns collectors on or off
  std::atomic<bool> may_turn_{false}, are_on_{true};  // collectors begin at work
  std::mutex mutex_;                                  // of what follows, but that collectors_ stays from start() on
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
