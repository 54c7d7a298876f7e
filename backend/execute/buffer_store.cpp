#include "backend/execute/buffer_store.h"

#include <algorithm>
#include <cstring>

#include "backend/base/check.h"

namespace spscope {
namespace {

constexpr int kPoison = 0xff;  // all bits set: NaN in bf16 and in fp32

}  // namespace

BufferStore::BufferStore(const MemoryLayout& layout, bool poison)
    : layout_(layout),
      poison_(poison),
      buffers_(layout.buffers().size()),
      slots_(layout.slots().size()),
      ranks_(static_cast<std::size_t>(layout.ranks())) {}

void BufferStore::start(std::span<const std::int32_t> users) {
  SPSCOPE_CHECK(users.size() == slots_.size());
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const BufferSlot& slot = layout_.slot(static_cast<SlotId>(i));
    if (slots_[i].open.exchange(false)) give_up(ranks_[static_cast<std::size_t>(slot.rank)], slot);
    slots_[i].users = users[i];
  }
  for (RankMemory& rank : ranks_) {
    SPSCOPE_CHECK(rank.live_bytes == 0);
    rank.peak_bytes = 0;
  }
}

// A block of the pool serves up to half of its lines unused: a closer fit would not be worth a page fault.
void BufferStore::take(RankMemory& rank, LiveBuffer& buffer, std::int64_t num_lines) {
  const auto fit = rank.pool.lower_bound(num_lines);
  if (fit != rank.pool.end() && fit->first <= 2 * num_lines) {
    buffer.num_lines = fit->first;
    buffer.memory = std::move(fit->second);
    rank.pool.erase(fit);
  } else {
    buffer.num_lines = num_lines;
    buffer.memory = std::make_unique_for_overwrite<Line[]>(static_cast<std::size_t>(num_lines));
  }
  buffer.data = buffer.memory[0].bytes;
  if (poison_) std::memset(buffer.data, kPoison, static_cast<std::size_t>(buffer.num_lines) * sizeof(Line));
}

bool BufferStore::open(SlotId id) {
  SlotState& state = slots_[static_cast<std::size_t>(id)];
  if (state.open.load(std::memory_order_acquire)) return false;
  const BufferSlot& slot = layout_.slot(id);
  RankMemory& rank = ranks_[static_cast<std::size_t>(slot.rank)];
  const std::lock_guard lock(rank.mutex);
  if (state.open.load(std::memory_order_relaxed)) return false;
  for (BufferId b = slot.first_buffer; b < slot.first_buffer + slot.num_buffers; ++b) {
    const auto lines = layout_.buffer(b).allocated_bytes / static_cast<std::int64_t>(sizeof(Line));
    take(rank, buffers_[static_cast<std::size_t>(b)], std::max<std::int64_t>(1, lines));
  }
  rank.live_bytes += slot.num_bytes;
  rank.peak_bytes = std::max(rank.peak_bytes, rank.live_bytes);
  state.open.store(true, std::memory_order_release);
  return true;
}

void BufferStore::release(SlotId id) {
  SlotState& state = slots_[static_cast<std::size_t>(id)];
  if (state.users.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  const BufferSlot& slot = layout_.slot(id);
  RankMemory& rank = ranks_[static_cast<std::size_t>(slot.rank)];
  const std::lock_guard lock(rank.mutex);
  if (!state.open.exchange(false)) return;
  give_up(rank, slot);
}

void BufferStore::give_up(RankMemory& rank, const BufferSlot& slot) {
  for (BufferId b = slot.first_buffer; b < slot.first_buffer + slot.num_buffers; ++b) {
    LiveBuffer& buffer = buffers_[static_cast<std::size_t>(b)];
    if (poison_) std::memset(buffer.data, kPoison, static_cast<std::size_t>(buffer.num_lines) * sizeof(Line));
    rank.pool.emplace(buffer.num_lines, std::move(buffer.memory));
    buffer.data = nullptr;
  }
  rank.live_bytes -= slot.num_bytes;
}

std::vector<std::int64_t> BufferStore::peak_bytes() const {
  std::vector<std::int64_t> peaks;
  for (const RankMemory& rank : ranks_) peaks.push_back(rank.peak_bytes);
  return peaks;
}

}  // namespace spscope
