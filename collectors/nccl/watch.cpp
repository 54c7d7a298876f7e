#include "collectors/nccl/watch.h"

#include <unistd.h>

#include <limits>
#include <string_view>
#include <utility>

#include "backend/base/clock.h"
#include "collectors/nccl/interface.h"

namespace spscope::nccl {
namespace {

// "ncclFloat16": the number at the end is that of bits, but for the formats of 8 bits.
std::size_t dtype_bytes(const char* dtype) noexcept {
  const std::string_view text = dtype == nullptr ? "" : dtype;
  if (text.ends_with("8e4m3") || text.ends_with("8e5m2")) return 1;
  if (text.ends_with("64")) return 8;
  if (text.ends_with("32")) return 4;
  if (text.ends_with("16")) return 2;
  return text.ends_with("8") ? 1 : 0;
}

std::int64_t bytes_of(const StartedOperation& what) noexcept {
  const std::size_t each = dtype_bytes(what.dtype);
  constexpr std::size_t kMost = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(each != 0 && what.count > kMost / each ? kMost : what.count * each);
}

}  // namespace

Watch::Measure::Measure(Watch& watch) noexcept : watch_(watch) {
  if (watch.num_callbacks_.fetch_add(1, std::memory_order_relaxed) % kMeasureOne == 0) begin_ns_ = now_ns();
}

Watch::Measure::~Measure() {
  if (begin_ns_ != 0) watch_.callback_ns_.fetch_add(now_ns() - begin_ns_, std::memory_order_relaxed);
}

void* Watch::add_communicator(const CommunicatorFacts& facts, int* mask, int wanted) noexcept {
  const std::lock_guard lock(begin_mutex_);
  if (const std::function<void()> start = std::exchange(start_, {})) start();
  return communicators_.add(facts, mask, wanted);
}

void Watch::remove_communicator(const void* context) noexcept { communicators_.remove(context, now_ns()); }

void* Watch::start_operation(const void* context, const void* parent, const StartedOperation& what) noexcept {
  if (!open_.load(std::memory_order_acquire) || !communicators_.lives(context)) return nullptr;
  Operation operation;
  operation.communicator = unpack(context).index;
  operation.function.assign(what.function);
  operation.algorithm.assign(what.algorithm);
  operation.protocol.assign(what.protocol);
  operation.point_to_point = what.point_to_point;
  operation.enqueued_only = what.enqueued_only;
  operation.peer = what.peer;
  operation.root = what.root;
  operation.bytes = bytes_of(what);
  operation.sequence = what.point_to_point
                           ? communicators_.next_sequence(context, what.peer, operation.function.view() == "Send")
                           : what.sequence;
  operation.channels_expected = what.num_channels;
  operation.start_ns = now_ns();
  operation.called_ns = calls().begin_ns(parent).value_or(0);
  void* const handle = operations().start(operation);
  if (handle == nullptr) communicators_.count_missed(context);
  sleep_.wake_from_sleep();
  return handle;
}

void* Watch::start_channel(const void* parent, int channel, std::uint64_t timer) noexcept {
  Operations* const operations = operations_.load(std::memory_order_acquire);
  return operations == nullptr ? nullptr : operations->start_channel(parent, channel, timer, now_ns());
}

void* Watch::start_proxy(const void* parent, int pid) noexcept {
  Operations* const operations = operations_.load(std::memory_order_acquire);
  if (operations == nullptr || parent == nullptr) return nullptr;
  if (pid == ::getpid()) return operations->start_proxy(parent, now_ns());
  operations->count_foreign();
  return nullptr;
}

void* Watch::start_call(const char* function, bool captured) noexcept {
  if (!open_.load(std::memory_order_acquire)) return nullptr;
  void* const handle = calls().start(function, captured, now_ns());
  sleep_.wake_from_sleep();
  return handle;
}

void* Watch::start_group(bool by_program) noexcept {
  if (!open_.load(std::memory_order_acquire)) return nullptr;
  void* const handle = calls().start_group(by_program, now_ns());
  sleep_.wake_from_sleep();
  return handle;
}

void Watch::stop(const void* packed) noexcept {
  const Handle handle = unpack(packed);
  switch (handle.kind) {
    case HandleKind::kOperation:
    case HandleKind::kChannel:
    case HandleKind::kProxy:
      if (operations_.load(std::memory_order_acquire) != nullptr) operations().stop(handle, now_ns());
      break;
    case HandleKind::kCall:
      if (calls_.load(std::memory_order_acquire) != nullptr) calls().stop(handle, now_ns());
      break;
    case HandleKind::kNone:
    case HandleKind::kCommunicator:
      break;
  }
}

void Watch::record(const void* packed, int state, const std::uint64_t* timer) noexcept {
  const Handle handle = unpack(packed);
  if (state == kKernelChannelStop && handle.kind == HandleKind::kChannel && timer != nullptr &&
      operations_.load(std::memory_order_acquire) != nullptr)
    operations().channel_time(handle, *timer, now_ns());
  if (state == kGroupEndStart && handle.kind == HandleKind::kCall && calls_.load(std::memory_order_acquire) != nullptr)
    calls().group_end_started(handle, now_ns());
}

bool Watch::begin(std::function<void()> start) {
  const std::lock_guard lock(begin_mutex_);
  if (std::exchange(taken_, true)) return false;
  if (communicators_.any())
    start();
  else
    start_ = std::move(start);
  return true;
}

void Watch::prepare() {
  if (operations_.load() == nullptr) operations_.store(std::make_unique<Operations>().release());
  if (calls_.load() == nullptr) calls_.store(std::make_unique<Calls>().release());
  (void)operations().take_all();
  (void)calls().take_ended();
}

void Watch::turn_on_or_off() noexcept {
  const bool on = wanted_ && !paused_;
  if (on) open_.store(true, std::memory_order_release);
  communicators_.watch(on);
  if (!on) open_.store(false, std::memory_order_release);
}

void Watch::open() noexcept {
  wanted_ = true;
  turn_on_or_off();
}

void Watch::pause(bool on) noexcept {
  const std::lock_guard lock(begin_mutex_);
  paused_ = on;
  turn_on_or_off();
}

void Watch::close() noexcept {
  const std::lock_guard lock(begin_mutex_);
  start_ = {};
  wanted_ = false;
  turn_on_or_off();
}

void Watch::end() noexcept {
  const std::lock_guard lock(begin_mutex_);
  taken_ = paused_ = false;
}

Watch& watch() noexcept {
  static Watch& only = *std::make_unique<Watch>().release();
  return only;
}

}  // namespace spscope::nccl
