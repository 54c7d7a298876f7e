#include "backend/execute/cpu/buffer_store.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <thread>

#include "backend/base/check.h"
#include "backend/base/ids.h"
#include "backend/execute/lanes/run_control.h"

namespace spscope {
namespace {

constexpr int kPoison = 0xff;  // all bits set: NaN in bf16 and in fp32

}  // namespace

BufferStore::BufferStore(const MemoryLayout& layout, bool poison)
    : BufferStore(layout, poison, {0, layout.ranks()}, SharedSlots{}) {}

BufferStore::BufferStore(const MemoryLayout& layout, bool poison, LocalRanks local, SharedSlots shared)
    : HostMemory(layout),
      poison_(poison),
      local_(local),
      shared_(std::move(shared)),
      buffers_(layout.buffers().size()),
      ranks_(at(layout.ranks())) {
  if (shared_.states.empty()) {
    own_states_ = std::vector<SlotState>(layout.slots().size());
    own_accounts_ = std::vector<MemoryAccount>(at(layout.ranks()));
    shared_.states = own_states_;
    shared_.accounts = own_accounts_;
  }
  for (SlotId id = 0; id < static_cast<SlotId>(layout.slots().size()); ++id) {
    std::byte* next = shared_memory(id);
    const BufferSlot& slot = layout.slot(id);
    for (BufferId b = slot.first_buffer; next != nullptr && b < slot.first_buffer + slot.num_buffers; ++b) {
      address_of_buffer(b) = next;
      buffers_[at(b)].num_lines = num_lines(b);
      next += buffers_[at(b)].num_lines * static_cast<std::int64_t>(sizeof(Line));
    }
  }
}

void BufferStore::start(std::span<const std::int32_t> users) {
  SPSCOPE_CHECK(users.size() == shared_.states.size());
  for (SlotId id = 0; id < static_cast<SlotId>(users.size()); ++id) {
    if (!local_.has(layout().slot(id).rank)) continue;
    SlotState& state = shared_.states[at(id)];
    if (state.phase == SlotState::kOpen) give_up(id);
    state.users = users[at(id)];
  }
  for (int rank = local_.first; rank < local_.first + local_.count; ++rank) {
    SPSCOPE_CHECK(shared_.accounts[at(rank)].live_bytes == 0);
    shared_.accounts[at(rank)].peak_bytes = 0;
  }
}

void BufferStore::poison(BufferId id) const {
  if (poison_)
    std::memset(address(id, 0, 0, 0), kPoison, static_cast<std::size_t>(buffers_[at(id)].num_lines) * sizeof(Line));
}

// A block of the pool serves up to half of its lines unused: a closer fit would not be worth a page fault.
void BufferStore::take(RankMemory& rank, BufferId id) {
  LiveBuffer& buffer = buffers_[at(id)];
  const std::int64_t wanted = num_lines(id);
  const auto fit = rank.pool.lower_bound(wanted);
  if (fit != rank.pool.end() && fit->first <= 2 * wanted) {
    buffer.num_lines = fit->first;
    buffer.memory = std::move(fit->second);
    rank.pool.erase(fit);
  } else {
    buffer.num_lines = wanted;
    buffer.memory = std::make_unique_for_overwrite<Line[]>(static_cast<std::size_t>(wanted));
  }
  address_of_buffer(id) = buffer.memory[0].bytes;
}

// Whether the caller is to make the buffers; false: they are there. Of several callers one makes them and the others
// wait. The one may fail, and another process be killed meanwhile.
bool BufferStore::begin_opening(SlotState& state) const {
  for (;;) {
    std::int32_t phase = SlotState::kClosed;
    if (state.phase.compare_exchange_strong(phase, SlotState::kOpening, std::memory_order_acq_rel)) return true;
    if (phase == SlotState::kOpen) return false;
    if (stopping_ != nullptr && stopping_->load(std::memory_order_acquire)) throw StopLane();
    std::this_thread::yield();
  }
}

void BufferStore::make_buffers(SlotId id) {
  const BufferSlot& slot = layout().slot(id);
  for (BufferId b = slot.first_buffer; b < slot.first_buffer + slot.num_buffers; ++b) {
    if (shared_memory(id) == nullptr) {
      RankMemory& rank = ranks_[at(slot.rank)];
      const std::lock_guard lock(rank.mutex);
      take(rank, b);
    }
    poison(b);
  }
}

bool BufferStore::open(SlotId id) {
  SlotState& state = shared_.states[at(id)];
  if (!is_here(id) || is_open(id) || !begin_opening(state)) return false;
  try {
    make_buffers(id);
  } catch (const std::exception&) {  // others that wait for the slot would wait for ever
    state.phase.store(SlotState::kClosed, std::memory_order_release);
    throw;
  }
  const BufferSlot& slot = layout().slot(id);
  MemoryAccount& account = shared_.accounts[at(slot.rank)];
  const std::int64_t live = account.live_bytes.fetch_add(slot.num_bytes) + slot.num_bytes;
  for (std::int64_t peak = account.peak_bytes; peak < live;)
    if (account.peak_bytes.compare_exchange_weak(peak, live)) break;
  state.phase.store(SlotState::kOpen, std::memory_order_release);
  return true;
}

void BufferStore::release(SlotId id) {
  if (!is_here(id)) return;
  SlotState& state = shared_.states[at(id)];
  if (state.users.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (state.phase == SlotState::kOpen) give_up(id);
}

void BufferStore::give_up(SlotId id) {
  const BufferSlot& slot = layout().slot(id);
  for (BufferId b = slot.first_buffer; b < slot.first_buffer + slot.num_buffers; ++b) {
    poison(b);
    if (shared_memory(id) != nullptr) continue;
    LiveBuffer& buffer = buffers_[at(b)];
    RankMemory& rank = ranks_[at(slot.rank)];
    const std::lock_guard lock(rank.mutex);
    rank.pool.emplace(buffer.num_lines, std::move(buffer.memory));
    address_of_buffer(b) = nullptr;
  }
  shared_.accounts[at(slot.rank)].live_bytes.fetch_sub(slot.num_bytes);
  shared_.states[at(id)].phase.store(SlotState::kClosed, std::memory_order_release);
}

std::vector<std::int64_t> BufferStore::peak_bytes() const {
  std::vector<std::int64_t> peaks;
  for (const MemoryAccount& account : shared_.accounts) peaks.push_back(account.peak_bytes);
  return peaks;
}

}  // namespace spscope
