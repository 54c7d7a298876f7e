#include "collectors/inject/inject.h"

#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "backend/base/result.h"
#include "backend/record/shared_trace_sink.h"
#include "collectors/inject/connection.h"

namespace spscope::inject {
namespace {

// Threads of a library must not take signals that are meant for the program: those that are started meanwhile have all
// of them blocked.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

class Injected {
 public:
  explicit Injected(const Connection& connection) : connection_(connection), sink_(connection.memory()) {}

  void start() {
    // attach knows what the process is called, and names its tracks.
    const CollectedProcess process = {.rank = rank_of_process(), .process = "attached"};
    for (const CollectorRow& row : injected_collectors()) {
      const std::optional<Error> failed = failure_of([&] { collectors_.push_back(row.start(sink_, process)); });
      if (failed) note(row.name, *failed);
    }
    for (const std::unique_ptr<Collector>& collector : collectors_) send_notes(*collector);
    std::thread([this] {
      connection_.wait_for_end();
      end();
    }).detach();
  }

  // What collectors still have is in the memory before the connection ends.
  void end() noexcept {
    const std::lock_guard lock(mutex_);
    if (ended_ || ::getpid() != pid_) return;
    ended_ = true;
    for (const std::unique_ptr<Collector>& collector : collectors_)
      if (const std::optional<Error> failed = failure_of([&] { collector->stop(); })) note("stopping", *failed);
    // What they found out since their start, as how much they lost.
    static_cast<void>(failure_of([&] {
      for (const std::unique_ptr<Collector>& collector : collectors_) send_notes(*collector);
    }));
    sink_.set_handed_over();
    connection_.close();
  }

  void leave_to_parent() noexcept { connection_.leave_to_parent(); }
  TraceSink& sink() { return sink_; }

 private:
  // Those that were not sent yet.
  void send_notes(const Collector& collector) {
    for (const std::string& text : collector.notes())
      if (sent_notes_.insert(text).second) sink_.note(text);
  }
  void note(std::string_view what, const Error& error) {
    sink_.note(std::string(what) + ": " + error.what() + (error.hint().empty() ? "" : "; " + error.hint()));
  }

  const Connection connection_;
  const pid_t pid_ = ::getpid();
  SharedTraceSink sink_;
  std::mutex mutex_;  // of what follows
  bool ended_ = false;
  std::vector<std::unique_ptr<Collector>> collectors_;
  std::set<std::string> sent_notes_;
};

// Never destroyed: threads of CUPTI and of the program use it until the process is gone.
Injected* injected = nullptr;
std::once_flag begun;
bool is_child = false;  // of the fork of a process that collects

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
    if (!is_child) injected->end();
  });
}

}  // namespace

TraceSink* begin() noexcept {
  // Where it fails the program goes on without.
  if (failure_of([] { std::call_once(begun, begin_here); })) return nullptr;
  return injected == nullptr || is_child ? nullptr : &injected->sink();
}

}  // namespace spscope::inject

// The CUDA driver calls it in cuInit, by CUDA_INJECTION64_PATH; what it returns is not looked at.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  return spscope::inject::begin() != nullptr;
}
