// Watch: what NCCL tells its profiler plugin in this process, in whichever version of the interface, until a collector
// takes it. State of the process, since NCCL's functions get no pointer of ours before there is a communicator; it is
// made on first use and lives as long as the process, because NCCL's threads may call until the very end.
//
// NCCL may load the plugin before a collector starts, or after: communicators are remembered in any case, and as long
// as nobody collects NCCL is asked for no event.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include "backend/record/reader_sleep.h"
#include "collectors/nccl/calls.h"
#include "collectors/nccl/communicators.h"
#include "collectors/nccl/operations.h"

namespace spscope::nccl {

// An operation as NCCL describes it.
struct StartedOperation {
  const char *function = nullptr, *dtype = nullptr, *algorithm = nullptr, *protocol = nullptr;
  std::size_t count = 0;  // of elements
  std::int64_t sequence = -1;
  int peer = -1, root = -1;
  int num_channels = 0;
  bool point_to_point = false, enqueued_only = false;
};

class Watch {
 public:
  // -- NCCL's threads. Handles are null while nobody collects.
  void* add_communicator(const CommunicatorFacts& facts, int* mask, int wanted) noexcept;
  void remove_communicator(const void* context) noexcept;
  void* start_operation(const void* context, const void* parent, const StartedOperation& what) noexcept;
  void* start_channel(const void* parent, int channel, std::uint64_t timer) noexcept;
  void* start_proxy(const void* parent, int pid) noexcept;
  void* start_call(const char* function, bool captured) noexcept;
  void* start_group(bool by_program) noexcept;
  void stop(const void* handle) noexcept;
  void record(const void* handle, int state, const std::uint64_t* timer) noexcept;

  // -- the collector
  // False: another one collects. `start` is called once there is a communicator: at once, or on the thread of NCCL
  // that makes the first one, before NCCL is told what is wanted of it. It calls prepare() and open().
  bool begin(std::function<void()> start);
  // Takes memory. What came between the last taking and the end of another collector is thrown away.
  void prepare();
  // From now on NCCL is asked for events. REQUIRES: prepare() was called.
  void open() noexcept;
  // Between pause(true) and pause(false) NCCL is asked for nothing, also by communicators that are made meanwhile.
  void pause(bool on) noexcept;
  // No operation and no call starts any more, and neither does `start`; those under way go on.
  void close() noexcept;
  // Others may begin.
  void end() noexcept;
  Communicators& communicators() { return communicators_; }
  // REQUIRES: prepare() was called once.
  Operations& operations() { return *operations_.load(); }
  Calls& calls() { return *calls_.load(); }
  // Of the thread that takes them: the start of an operation or of a call wakes it.
  ReaderSleep& sleep() { return sleep_; }

  // Time of the program's threads in the functions above, from one call in 64.
  std::int64_t callback_ns() const noexcept { return callback_ns_ * kMeasureOne; }
  // Measures one function of NCCL's, while it lives.
  class Measure;

 private:
  static constexpr std::int64_t kMeasureOne = 64;
  void turn_on_or_off() noexcept;
  std::mutex begin_mutex_;  // of the next three, and of making communicators against them
  bool taken_ = false, wanted_ = false, paused_ = false;
  std::function<void()> start_;  // none: it was called, or nobody collects
  std::atomic<bool> open_{false};
  ReaderSleep sleep_;
  Communicators communicators_;
  // Made by the first prepare(), and kept.
  std::atomic<Operations*> operations_{nullptr};
  std::atomic<Calls*> calls_{nullptr};
  std::atomic<std::uint32_t> num_callbacks_{0};
  std::atomic<std::int64_t> callback_ns_{0};
};

class Watch::Measure {
 public:
  explicit Measure(Watch& watch) noexcept;
  ~Measure();
  Measure(const Measure&) = delete;
  Measure& operator=(const Measure&) = delete;

 private:
  Watch& watch_;
  std::int64_t begin_ns_ = 0;  // 0: not measured
};

Watch& watch() noexcept;

}  // namespace spscope::nccl
