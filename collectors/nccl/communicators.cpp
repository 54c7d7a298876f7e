#include "collectors/nccl/communicators.h"

#include <algorithm>

#include "backend/base/result.h"

namespace spscope::nccl {
namespace {

constexpr int kMaxPeers = 1 << 16;  // whose sends and receives are counted

// NCCL reads it from its threads at any time.
void set_mask(int* mask, int value) noexcept {
  if (mask != nullptr) std::atomic_ref<int>(*mask).store(value, std::memory_order_relaxed);
}

}  // namespace

Communicators::Row* Communicators::row_of(const Handle& handle) noexcept {
  return handle.kind == HandleKind::kCommunicator && handle.index < kMax ? &rows_[handle.index] : nullptr;
}

void* Communicators::add(const CommunicatorFacts& facts, int* mask, int wanted) noexcept {
  const std::lock_guard adding(add_mutex_);
  if (rows_ == nullptr && failure_of([&] { rows_ = std::make_unique<Row[]>(kMax); })) wanted = 0;
  set_mask(mask, watching_ ? wanted : 0);
  if (rows_ == nullptr) return nullptr;
  for (std::uint32_t index = 0; index < kMax; ++index) {
    Row& row = rows_[index];
    const std::lock_guard lock(row.mutex);
    if (row.life != Life::kFree) continue;
    row.life = Life::kLive;
    ++row.use;
    row.facts = facts;
    row.mask = mask;
    row.wanted = wanted;
    row.removed_ns = row.missed = 0;
    row.sent.clear();
    row.received.clear();
    row.counts_all = watching_;
    num_rows_.store(std::max(num_rows_.load(), index + 1));
    return pack({HandleKind::kCommunicator, index, row.use});
  }
  return nullptr;
}

bool Communicators::remove(const void* context, std::int64_t now_ns) noexcept {
  const Handle handle = unpack(context);
  Row* const row = row_of(handle);
  if (row == nullptr) return false;
  const std::lock_guard lock(row->mutex);
  if (row->life != Life::kLive || row->use != handle.use) return false;
  row->life = Life::kRemoved;
  row->mask = nullptr;  // its library may go
  row->removed_ns = now_ns;
  return true;
}

void Communicators::learn(const void* context, const CommunicatorFacts& facts) noexcept {
  const Handle handle = unpack(context);
  Row* const row = row_of(handle);
  if (row == nullptr) return;
  const std::lock_guard lock(row->mutex);
  if (row->life == Life::kLive && row->use == handle.use && row->facts.rank < 0) row->facts = facts;
}

bool Communicators::lives(const void* context) noexcept {
  const Handle handle = unpack(context);
  Row* const row = row_of(handle);
  if (row == nullptr) return false;
  const std::lock_guard lock(row->mutex);
  return row->life == Life::kLive && row->use == handle.use;
}

std::int64_t Communicators::next_sequence(const void* context, int peer, bool send) noexcept {
  const Handle handle = unpack(context);
  Row* const row = row_of(handle);
  if (row == nullptr || peer < 0 || peer >= kMaxPeers) return -1;
  const std::lock_guard lock(row->mutex);
  if (row->use != handle.use || !row->counts_all) return -1;
  std::vector<std::uint32_t>& counts = send ? row->sent : row->received;
  const auto at = static_cast<std::size_t>(peer);
  const std::size_t peers = std::max(at + 1, static_cast<std::size_t>(std::clamp(row->facts.num_ranks, 0, kMaxPeers)));
  if (counts.size() <= at && failure_of([&] { counts.resize(peers); })) return -1;
  return counts[at]++;
}

void Communicators::count_missed(const void* context) noexcept {
  const Handle handle = unpack(context);
  Row* const row = row_of(handle);
  if (row == nullptr) return;
  const std::lock_guard lock(row->mutex);
  if (row->use == handle.use) ++row->missed;
}

void Communicators::watch(bool on) noexcept {
  const std::lock_guard adding(add_mutex_);
  watching_ = on;
  for (std::uint32_t index = 0; index < num_rows_.load(); ++index) {
    Row& row = rows_[index];
    const std::lock_guard lock(row.mutex);
    if (row.life == Life::kLive) set_mask(row.mask, on ? row.wanted : 0);
    row.counts_all &= on;
  }
}

std::vector<Communicators::State> Communicators::take_states() {
  std::vector<State> states;
  for (std::uint32_t index = 0; index < num_rows_.load(); ++index) {
    Row& row = rows_[index];
    const std::lock_guard lock(row.mutex);
    if (row.life == Life::kFree) continue;
    states.push_back({index, row.use, row.facts, row.removed_ns, row.missed});
    row.missed = 0;
  }
  return states;
}

void Communicators::forget(std::uint32_t index) noexcept {
  Row& row = rows_[index];
  const std::lock_guard lock(row.mutex);
  row.life = Life::kFree;
}

bool Communicators::any() noexcept { return num_rows_.load() > 0; }

}  // namespace spscope::nccl
