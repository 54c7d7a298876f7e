#include "collectors/nccl/calls.h"

#include <unistd.h>

namespace spscope::nccl {
namespace {

int this_thread() noexcept {
  thread_local const int number = ::gettid();
  return number;
}

}  // namespace

Calls::Calls() : places_(std::make_unique<Place[]>(kMax)) { ended_.reserve(kMax); }

void* Calls::take_place(const char* function, bool captured, bool is_group, bool by_program,
                        std::int64_t now_ns) noexcept {
  const auto index = static_cast<std::uint32_t>(next_.fetch_add(1, std::memory_order_relaxed) % kMax);
  Place& place = places_[index];
  const std::lock_guard lock(place.mutex);
  if (place.open && !(place.is_group && !place.by_program)) dropped_.fetch_add(1, std::memory_order_relaxed);
  ++place.use;
  place.call = {.thread = this_thread(), .begin_ns = now_ns};
  place.call.function.assign(function);
  place.open = true;
  place.captured = captured;
  place.is_group = is_group;
  place.by_program = by_program;
  return pack({HandleKind::kCall, index, place.use});
}

void* Calls::start(const char* function, bool captured, std::int64_t now_ns) noexcept {
  return take_place(function, captured, false, true, now_ns);
}

void* Calls::start_group(bool by_program, std::int64_t now_ns) noexcept {
  return take_place(nullptr, false, true, by_program, now_ns);
}

void Calls::group_end_started(const Handle& handle, std::int64_t now_ns) noexcept {
  if (handle.index >= kMax) return;
  Place& place = places_[handle.index];
  const std::lock_guard lock(place.mutex);
  if (place.use == handle.use && place.open && place.is_group) place.call.begin_ns = now_ns;
}

void Calls::stop(const Handle& handle, std::int64_t now_ns) noexcept {
  if (handle.index >= kMax) return;
  Place& place = places_[handle.index];
  EndedCall call;
  {
    const std::lock_guard lock(place.mutex);
    if (place.use != handle.use || !place.open) return;
    place.open = false;
    // The group that a call makes for itself is that call.
    if (place.is_group && !place.by_program) return;
    call = place.call;
  }
  call.end_ns = now_ns;
  const std::lock_guard lock(ended_mutex_);
  if (ended_.size() < kMax)
    ended_.push_back(call);  // never allocates: there is room for kMax
  else
    dropped_.fetch_add(1, std::memory_order_relaxed);
}

std::optional<std::int64_t> Calls::begin_ns(const void* call) noexcept {
  const Handle handle = unpack(call);
  if (handle.kind != HandleKind::kCall || handle.index >= kMax) return std::nullopt;
  Place& place = places_[handle.index];
  const std::lock_guard lock(place.mutex);
  if (place.use != handle.use || place.captured || place.is_group) return std::nullopt;
  return place.call.begin_ns;
}

std::vector<EndedCall> Calls::take_ended() {
  std::vector<EndedCall> taken;
  taken.reserve(kMax);
  const std::lock_guard lock(ended_mutex_);
  taken.swap(ended_);
  return taken;
}

}  // namespace spscope::nccl
