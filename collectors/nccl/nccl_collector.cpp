#include "collectors/nccl/nccl_collector.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <pthread.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <utility>

#include "backend/base/clock.h"
#include "backend/base/result.h"
#include "backend/record/reader_sleep.h"
#include "collectors/nccl/trace_output.h"
#include "collectors/signals_blocked.h"

namespace spscope {
namespace nccl {
namespace {

// Operations that are under way, or have just ended, are looked at every 20 ms; calls that end while none is, later.
constexpr std::chrono::milliseconds kShortestNap{20}, kLongestNap{320};
// How long stop() waits for children that NCCL has not told of yet.
constexpr std::int64_t kStopWaitNs = 200'000'000;
constexpr const char* kPlugin = "NCCL_PROFILER_PLUGIN";

// Memory and thread come with NCCL's first communicator, so that it costs a process without NCCL next to nothing.
class NcclCollector final : public Collector {
 public:
  NcclCollector(TraceSink& sink, const CollectedProcess& process) : sink_(sink), process_(process) {
    if (!watch().begin([this] { start(); }))
      throw Error(ErrorCode::kCannotCollect, "NCCL's operations are collected in this process already",
                  "stop the collector nccl that runs before starting another");
    const std::optional<Error> failed = failure();  // of a communicator that NCCL made before
    if (!failed) return;
    watch().end();
    throw Error(*failed);
  }
  ~NcclCollector() override { end(); }

  void stop() override {
    end();
    if (const std::optional<Error> failed = failure()) throw Error(*failed);
  }

  void pause() noexcept override { watch().pause(true); }
  void resume() noexcept override { watch().pause(false); }

  CollectorCost cost() const override {
    const std::lock_guard lock(mutex_);
    if (!output_) return {};
    return {.thread_ns = thread_ns_,
            .callback_ns = watch().callback_ns() - callback_begin_ns_,
            .memory_bytes = Operations::memory_bytes() + Calls::memory_bytes() + output_->memory_bytes(),
            .records = output_->counts().records,
            .dropped = output_->counts().dropped};
  }

  std::vector<std::string> notes() const override;

 private:
  std::optional<Error> failure() const {
    const std::lock_guard lock(mutex_);
    return failure_;
  }
  void start() noexcept;
  void end() noexcept;
  void finish();
  void take_until_stopped();
  bool take(bool last);
  bool is_stopping() const {
    const std::lock_guard lock(mutex_);
    return stopping_;
  }

  TraceSink& sink_;
  const CollectedProcess process_;
  const std::int64_t callback_begin_ns_ = watch().callback_ns();
  mutable std::mutex mutex_;  // of what follows
  bool stopping_ = false;
  OperationCounts before_;             // counts go on over collectors
  std::optional<TraceOutput> output_;  // none: NCCL has made no communicator yet
  std::optional<Error> failure_;
  std::int64_t thread_ns_ = 0;
  std::thread thread_;
  bool ended_ = false;  // one thread stops it
};

// By whoever makes the first communicator, which a failure leaves alone: stop() tells it.
void NcclCollector::start() noexcept {
  const std::optional<Error> failed = failure_of([&] {
    const std::lock_guard lock(mutex_);
    watch().prepare();
    output_.emplace(sink_, process_);
    before_ = watch().operations().counts();
    const SignalsBlocked blocked;
    thread_ = std::thread([this] { take_until_stopped(); });
    watch().open();
  });
  if (!failed) return;
  const std::lock_guard lock(mutex_);
  failure_ = failed;
}

std::vector<std::string> NcclCollector::notes() const {
  const std::lock_guard lock(mutex_);
  if (!output_ || failure_) return {};
  const OutputCounts& counts = output_->counts();
  const OperationCounts all = watch().operations().counts();
  std::vector<std::string> notes;
  const auto note = [&](std::int64_t number, std::string_view what) {
    if (number > 0) notes.push_back(fmt::format("{} {}", number, what));
  };
  note(counts.without_device, "operations without times of the device: NCCL tells them from 2.27 on");
  note(counts.enqueued_only, "collectives of copy engines: NCCL tells only when they were enqueued");
  note(counts.given_up, "operations for which NCCL did not tell the end of every channel");
  note(all.late - before_.late, "events of NCCL that came after their operation had ended");
  note(all.repeated - before_.repeated, "starts or stops that NCCL told twice");
  note(all.foreign - before_.foreign,
       "network transfers for ranks of other processes (PXN), which belong to no row here");
  note(all.unusable - before_.unusable, "events of channels without a time, or beyond the 64th of an operation");
  if (counts.worst_error_ns >= 0)
    notes.push_back(fmt::format("begin and end of transfers are up to {:.1f} us later than they were on the device",
                                static_cast<double>(counts.worst_error_ns) * 1e-3));
  return notes;
}

// Whether it took something, or more is to come.
bool NcclCollector::take(bool last) {
  const std::lock_guard lock(mutex_);
  const auto taken = [&] { return output_->counts().records + output_->counts().dropped; };
  const std::int64_t before = taken();
  if (!failure_) failure_ = failure_of([&] { output_->take(watch(), last, now_ns()); });
  // A sink that failed gets no more; places are still given back.
  if (failure_ && last) (void)watch().operations().take_all();
  thread_ns_ = thread_cpu_ns();
  return taken() != before || watch().operations().any();
}

void NcclCollector::take_until_stopped() {
  pthread_setname_np(pthread_self(), "nccl-events");
  ReaderNaps naps(watch().sleep(), kShortestNap, kLongestNap);
  for (naps.begin(); !is_stopping(); naps.begin()) {
    if (take(false)) naps.found();
    naps.wait();
  }
  take(true);
}

void NcclCollector::end() noexcept {
  if (std::exchange(ended_, true)) return;
  watch().close();
  if (thread_.joinable()) finish();
  watch().end();
}

// REQUIRES: no operation starts any more.
void NcclCollector::finish() {
  const std::int64_t begin_ns = now_ns();
  while (watch().operations().any_under_way() && now_ns() - begin_ns < kStopWaitNs)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  watch().sleep().wake();
  thread_.join();
}

bool nccl_is_mapped() {
  bool found = false;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* to) {
        const std::string_view path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
        *static_cast<bool*>(to) |= path.substr(path.find_last_of('/') + 1).starts_with("libnccl.so");
        return 0;
      },
      &found);
  return found;
}

// The library or program that has this address.
const void* module_of(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

// Whether NCCL's setting names the library or program that this code is in.
bool names_us(const std::string& plugin) {
  if (plugin == "STATIC_PLUGIN") {  // what the program exports
    const void* const exported = dlsym(RTLD_DEFAULT, "ncclProfiler_v6");
    return exported != nullptr && module_of(exported) == module_of(reinterpret_cast<const void*>(&watch));
  }
  Dl_info info{};
  std::error_code error;
  return dladdr(reinterpret_cast<const void*>(&watch), &info) != 0 && info.dli_fname != nullptr &&
         std::filesystem::equivalent(plugin, info.dli_fname, error);
}

}  // namespace
}  // namespace nccl

std::optional<std::string> nccl_cannot_collect() {
  if (nccl::watch().communicators().any()) return std::nullopt;  // NCCL has loaded the plugin
  const char* const plugin = std::getenv(nccl::kPlugin);
  if (plugin != nullptr && nccl::names_us(plugin)) return std::nullopt;
  if (plugin != nullptr)
    return fmt::format("NCCL loads the profiler {} here, as {} says, and no other: unset it", plugin, nccl::kPlugin);
  if (nccl::nccl_is_mapped())
    return "NCCL tells its operations only to a profiler that it was started with: start the program by `spscope "
           "attach`, or link it with the plugin and set NCCL_PROFILER_PLUGIN=STATIC_PLUGIN";
  return "this process does not use NCCL; nccl collects only under spscope attach";
}

std::unique_ptr<Collector> start_nccl(TraceSink& sink, const CollectedProcess& process) {
  return std::make_unique<nccl::NcclCollector>(sink, process);
}

}  // namespace spscope
