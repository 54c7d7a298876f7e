#include "collectors/nccl/operations.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "collectors/nccl/communicators.h"

namespace spscope::nccl {
namespace {

constexpr int kMaxChildren = 64;  // channels of NCCL; proxy ops that are followed

void count(std::atomic<std::int64_t>& counter) noexcept { counter.fetch_add(1, std::memory_order_relaxed); }

void lower(std::int64_t& least, std::int64_t value) noexcept { least = least == 0 ? value : std::min(least, value); }

// A time of the device becomes the pair when its delay is the smallest yet.
void pair(Operation& operation, std::uint64_t timer, std::int64_t now_ns) noexcept {
  const auto delay = [](std::uint64_t device, std::int64_t host) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(host) - device);
  };
  if (operation.pair_timer != 0 && delay(operation.pair_timer, operation.pair_host_ns) <= delay(timer, now_ns)) return;
  operation.pair_timer = timer;
  operation.pair_host_ns = now_ns;
}

}  // namespace

struct Operations::Found {
  Place* place = nullptr;
  std::unique_lock<std::mutex> lock = {};
};

bool Operations::Place::has_ended() const noexcept {
  if (operation.stop_ns == 0 || (open_channels | open_proxies) != 0) return false;
  if (operation.enqueued_only) return true;
  const int expected = std::max(operation.channels_expected, 1);
  return std::popcount(ended_channels) >= expected;
}

Operations::Operations() : places_(std::make_unique<Place[]>(kMax)), free_(kMax), ended_order_(Communicators::kMax, 0) {
  std::iota(free_.rbegin(), free_.rend(), std::uint16_t{0});
}

Operations::Found Operations::find(const Handle& handle) noexcept {
  if (handle.index >= kMax) return {};
  Place& place = places_[handle.index];
  std::unique_lock lock(place.mutex);
  if (place.used && place.use == handle.use) return {&place, std::move(lock)};
  lock.unlock();
  count(late_);
  return {};
}

void* Operations::start(const Operation& operation) noexcept {
  std::uint32_t index = 0;
  {
    const std::lock_guard lock(free_mutex_);
    if (free_.empty()) return nullptr;
    index = free_.back();
    free_.pop_back();
  }
  Place& place = places_[index];
  const std::lock_guard lock(place.mutex);
  place.used = true;
  ++place.use;
  place.operation = operation;
  place.operation.order = next_order_.fetch_add(1, std::memory_order_relaxed);
  place.open_channels = place.ended_channels = place.open_proxies = 0;
  place.num_proxies = 0;
  place.last_change_ns = operation.start_ns;
  place.passed_ns = 0;
  used_[index].store(true, std::memory_order_release);
  return pack({HandleKind::kOperation, index, place.use});
}

void* Operations::start_channel(const void* parent, int channel, std::uint64_t timer, std::int64_t now_ns) noexcept {
  const Handle handle = unpack(parent);
  if (handle.kind != HandleKind::kOperation) return nullptr;
  const Found found = find(handle);
  if (found.place == nullptr) return nullptr;
  if (channel < 0 || channel >= kMaxChildren) {
    count(unusable_);
    return nullptr;
  }
  Place& place = *found.place;
  const std::uint64_t bit = std::uint64_t{1} << channel;
  if (((place.open_channels | place.ended_channels) & bit) != 0) count(repeated_);
  place.open_channels |= bit;
  place.ended_channels &= ~bit;
  place.last_change_ns = now_ns;
  Operation& operation = place.operation;
  lower(operation.first_start_ns, now_ns);
  if (timer != 0) {
    operation.first_start_timer =
        operation.first_start_timer == 0 ? timer : std::min(operation.first_start_timer, timer);
    pair(operation, timer, now_ns);
  }
  return pack({HandleKind::kChannel, handle.index, handle.use, channel});
}

void* Operations::start_proxy(const void* parent, std::int64_t now_ns) noexcept {
  const Handle handle = unpack(parent);
  if (handle.kind != HandleKind::kOperation) return nullptr;
  const Found found = find(handle);
  if (found.place == nullptr) return nullptr;
  Place& place = *found.place;
  if (place.num_proxies == kMaxChildren) {
    count(unusable_);
    return nullptr;
  }
  const int child = place.num_proxies++;
  place.open_proxies |= std::uint64_t{1} << child;
  place.last_change_ns = now_ns;
  return pack({HandleKind::kProxy, handle.index, handle.use, child});
}

void Operations::channel_time(const Handle& channel, std::uint64_t timer, std::int64_t now_ns) noexcept {
  const Found found = find(channel);
  if (found.place == nullptr) return;
  Operation& operation = found.place->operation;
  if (timer == 0 || (found.place->open_channels >> channel.child & 1) == 0 || timer < operation.first_start_timer) {
    count(timer == 0 ? unusable_ : repeated_);
    return;
  }
  operation.last_end_timer = std::max(operation.last_end_timer, timer);
  pair(operation, timer, now_ns);
}

void Operations::stop_child(Place& place, std::uint64_t& open, int child, std::int64_t now_ns,
                            std::int64_t& last_end) noexcept {
  const std::uint64_t bit = std::uint64_t{1} << child;
  if ((open & bit) == 0) return count(repeated_);
  open &= ~bit;
  place.last_change_ns = now_ns;
  last_end = std::max(last_end, now_ns);
}

void Operations::stop(const Handle& handle, std::int64_t now_ns) noexcept {
  const Found found = find(handle);
  if (found.place == nullptr) return;
  Place& place = *found.place;
  Operation& operation = place.operation;
  if (handle.kind == HandleKind::kChannel) {
    const std::uint64_t open = place.open_channels;
    stop_child(place, place.open_channels, handle.child, now_ns, operation.last_end_ns);
    place.ended_channels |= open & ~place.open_channels;
  } else if (handle.kind == HandleKind::kProxy) {
    stop_child(place, place.open_proxies, handle.child, now_ns, operation.last_proxy_end_ns);
  } else if (operation.stop_ns == 0) {
    operation.stop_ns = place.last_change_ns = now_ns;
  } else {
    count(repeated_);
  }
}

void Operations::release(std::uint32_t index) noexcept {
  used_[index].store(false, std::memory_order_release);
  const std::lock_guard lock(free_mutex_);
  free_.push_back(static_cast<std::uint16_t>(index));  // never allocates: there was room for all
}

std::vector<Operation> Operations::take_ended(std::int64_t now_ns, std::span<const std::int64_t> removed_ns) {
  std::vector<Operation> taken;
  for (std::uint32_t index = 0; index < kMax; ++index) {
    if (!used_[index].load(std::memory_order_acquire)) continue;
    Place& place = places_[index];
    std::unique_lock lock(place.mutex);
    Operation& operation = place.operation;
    const bool ended = place.has_ended();
    if (ended && now_ns - place.last_change_ns < kLingerNs) continue;
    std::uint64_t& latest = ended_order_[operation.communicator];
    if (ended) {
      latest = std::max(latest, operation.order);
    } else {
      const std::int64_t removed = removed_ns[operation.communicator];
      if (place.passed_ns == 0 && operation.order < latest) place.passed_ns = now_ns;
      const bool is_over = (place.passed_ns != 0 && now_ns - place.passed_ns >= kGiveUpNs) ||
                           (removed != 0 && now_ns - removed >= kGiveUpNs);
      if (!is_over || now_ns - place.last_change_ns < kGiveUpNs) continue;
      operation.given_up = true;
    }
    place.used = false;
    taken.push_back(operation);
    lock.unlock();
    release(index);
  }
  return taken;
}

bool Operations::any() const noexcept {
  return std::ranges::any_of(used_, [](const std::atomic<bool>& used) { return used.load(std::memory_order_acquire); });
}

bool Operations::any_under_way() noexcept {
  for (std::uint32_t index = 0; index < kMax; ++index) {
    if (!used_[index].load(std::memory_order_acquire)) continue;
    const std::lock_guard lock(places_[index].mutex);
    if (places_[index].used && !places_[index].has_ended()) return true;
  }
  return false;
}

std::vector<Operation> Operations::take_all() {
  std::vector<Operation> taken;
  for (std::uint32_t index = 0; index < kMax; ++index) {
    if (!used_[index].load(std::memory_order_acquire)) continue;
    Place& place = places_[index];
    std::unique_lock lock(place.mutex);
    place.operation.given_up = !place.has_ended();
    place.used = false;
    taken.push_back(place.operation);
    lock.unlock();
    release(index);
  }
  return taken;
}

bool Operations::uses(std::uint32_t communicator) noexcept {
  for (std::uint32_t index = 0; index < kMax; ++index) {
    if (!used_[index].load(std::memory_order_acquire)) continue;
    const std::lock_guard lock(places_[index].mutex);
    if (places_[index].used && places_[index].operation.communicator == communicator) return true;
  }
  return false;
}

OperationCounts Operations::counts() const noexcept { return {late_, repeated_, foreign_, unusable_}; }

}  // namespace spscope::nccl
