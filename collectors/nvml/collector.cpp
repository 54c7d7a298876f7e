// The collector `nvml`: a thread that takes a sample of the process's GPUs 10 times a second.
#include "collectors/collector.h"

#include <fmt/format.h>
#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "backend/base/clock.h"
#include "backend/base/result.h"
#include "collectors/nvml/gpus.h"
#include "collectors/nvml/pace.h"
#include "collectors/nvml/sampler.h"
#include "collectors/signals_blocked.h"

namespace spscope {
namespace nvml {
namespace {

constexpr std::int64_t kPeriodNs = 100'000'000;

class NvmlCollector final : public Collector {
 public:
  NvmlCollector(TraceSink& sink, const CollectedProcess& process)
      : found_(find_gpus(library_, ask_cuda(), process.devices)),
        sampler_(library_, found_.gpus, sink, process, now_ns),
        windows_(process.windows) {
    const SignalsBlocked blocked;
    thread_ = std::thread([this] { run(); });
    ::pthread_setname_np(thread_.native_handle(), "nvml-sampler");
  }
  ~NvmlCollector() override { end(); }

  void stop() override {
    if (!thread_.joinable()) return;
    end();
    sampler_.finish();
    if (failed_) throw Error(*failed_);
  }

  CollectorCost cost() const override {
    return {.thread_ns = thread_ns_.load(std::memory_order_relaxed),
            .memory_bytes = static_cast<std::int64_t>(sizeof *this) + sampler_.memory_bytes(),
            .records = sampler_.records(),
            .dropped = sampler_.dropped()};
  }

  std::vector<std::string> notes() const override {
    std::vector<std::string> notes = found_.notes;
    for (std::string& note : sampler_.notes()) notes.push_back(std::move(note));
    if (const std::int64_t left_out = left_out_.load(std::memory_order_relaxed); left_out > 0)
      notes.push_back(fmt::format("{} times of sampling were left out: NVML took longer than {} ms to answer", left_out,
                                  kPeriodNs / 1'000'000));
    return notes;
  }

 private:
  void run() {
    const PaceClock clock = {.now = now_ns, .wait = [this](std::int64_t until_ns) { return wait(until_ns); }};
    failed_ = failure_of([&] {
      bool rested = false;
      left_out_ = work_at_pace(clock, kPeriodNs, [&] {
        if (windows_ != nullptr && !windows_->contains(now_ns())) {
          rested = true;
          return;
        }
        if (std::exchange(rested, false)) sampler_.begin_anew();
        sampler_.sample();
        thread_ns_.store(thread_cpu_ns(), std::memory_order_relaxed);
      });
    });
  }

  bool wait(std::int64_t until_ns) {
    std::unique_lock lock(mutex_);
    stopped_.wait_for(lock, std::chrono::nanoseconds(until_ns - now_ns()), [this] { return stopping_; });
    return !stopping_;
  }

  void end() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    stopped_.notify_one();
    if (thread_.joinable()) thread_.join();
  }

  const Library library_;
  const FoundGpus found_;
  Sampler sampler_;
  const CollectWindows* const windows_;  // null: always
  std::atomic<std::int64_t> thread_ns_ = 0, left_out_ = 0;
  std::optional<Error> failed_;  // of the sink: by the thread, read when it has ended
  std::mutex mutex_;             // of stopping_
  std::condition_variable stopped_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace
}  // namespace nvml

std::optional<std::string> nvml_cannot_collect() {
  const std::optional<Error> error = failure_of([] {
    const nvml::Library library;
    (void)nvml::find_gpus(library, nvml::ask_cuda(), {});
  });
  return error ? std::optional(nvml::note_of(*error)) : std::nullopt;
}

std::unique_ptr<Collector> start_nvml(TraceSink& sink, const CollectedProcess& process) {
  return std::make_unique<nvml::NvmlCollector>(sink, process);
}

}  // namespace spscope
