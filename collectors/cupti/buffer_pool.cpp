#include "collectors/cupti/buffer_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <numeric>

#include "backend/base/check.h"
#include "backend/base/ids.h"

namespace spscope::cupti {
BufferPool::BufferPool(const PoolOptions& options, const RecordSizes& sizes)
    : options_(options),
      sizes_(sizes),
      states_(at(options.num_buffers), State::kFree),
      written_(at(options.num_buffers)),
      queue_(at(options.num_buffers)),
      overflow_(at(options.max_overflow)) {
  SPSCOPE_CHECK(options.num_buffers > 0 && options.buffer_bytes > 0 && options.buffer_bytes % 8 == 0);
  SPSCOPE_CHECK(options.overflow_bytes > 0 && options.overflow_bytes % 8 == 0);
  // Pages are given when they are first written.
  void* const memory = mmap(nullptr, at(options.num_buffers) * options.buffer_bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  arena_ = static_cast<std::uint8_t*>(memory);
  for (int index = options.num_buffers; index-- > 0;) free_.push_back(index);
}

BufferPool::~BufferPool() {
  SPSCOPE_CHECK(std::find(states_.begin(), states_.end(), State::kOut) == states_.end());
  munmap(arena_, at(options_.num_buffers) * options_.buffer_bytes);
}

std::span<std::uint8_t> BufferPool::take() noexcept {
  const std::lock_guard lock(mutex_);
  if (closed_ || free_.empty()) return take_overflow();
  const int index = free_.back();
  free_.pop_back();
  states_[at(index)] = State::kOut;
  return {arena_ + at(index) * options_.buffer_bytes, options_.buffer_bytes};
}

std::span<std::uint8_t> BufferPool::take_overflow() noexcept {
  const auto place = std::find(overflow_.begin(), overflow_.end(), nullptr);
  if (place != overflow_.end()) *place = static_cast<std::uint8_t*>(std::malloc(options_.overflow_bytes));
  if (place == overflow_.end() || *place == nullptr) {
    ++counts_.refused;
    return {};
  }
  ++counts_.overflowed;
  most_overflow_ = std::max(most_overflow_, ++overflow_out_);
  return {*place, options_.overflow_bytes};
}

int BufferPool::index_of(const std::uint8_t* buffer) const {
  const auto address = reinterpret_cast<std::uintptr_t>(buffer);
  const auto begin = reinterpret_cast<std::uintptr_t>(arena_);
  const std::size_t arena_bytes = at(options_.num_buffers) * options_.buffer_bytes;
  if (address < begin || address - begin >= arena_bytes || (address - begin) % options_.buffer_bytes != 0) return -1;
  return static_cast<int>((address - begin) / options_.buffer_bytes);
}

bool BufferPool::filled(std::uint8_t* buffer, std::size_t valid_bytes) noexcept {
  const int index = index_of(buffer);
  if (index < 0) return filled_overflow(buffer, valid_bytes);
  std::unique_lock lock(mutex_);
  if (states_[at(index)] != State::kOut) return false;
  const FilledBuffer full = {.valid = {buffer, std::min(valid_bytes, options_.buffer_bytes)}, .index = index};
  states_[at(index)] = State::kQueued;
  written_[at(index)] = std::max(written_[at(index)], full.valid.size());
  if (!closed_) {
    ++counts_.filled;
    queue_[(queue_begin_ + queue_size_++) % queue_.size()] = full;
    lock.unlock();
    wake_.notify_one();
    return true;
  }
  const RecordSizes sizes = sizes_;
  lock.unlock();
  const std::int64_t dropped = count_records(full.valid, sizes);
  lock.lock();
  counts_.dropped_records += dropped;
  lock.unlock();
  release(full);
  return true;
}

bool BufferPool::filled_overflow(std::uint8_t* buffer, std::size_t valid_bytes) noexcept {
  RecordSizes sizes;
  {
    const std::lock_guard lock(mutex_);
    const auto place = std::find(overflow_.begin(), overflow_.end(), buffer);
    if (buffer == nullptr || place == overflow_.end()) return false;
    *place = nullptr;
    --overflow_out_;
    sizes = sizes_;
  }
  const std::int64_t dropped = count_records({buffer, std::min(valid_bytes, options_.overflow_bytes)}, sizes);
  std::free(buffer);
  const std::lock_guard lock(mutex_);
  counts_.dropped_records += dropped;
  return true;
}

PoolCounts BufferPool::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

int BufferPool::num_out() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(std::ranges::count(states_, State::kOut) + overflow_out_);
}

std::int64_t BufferPool::most_bytes() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::int64_t>(
      std::accumulate(written_.begin(), written_.end(), at(most_overflow_) * options_.overflow_bytes));
}

void BufferPool::set_sizes(const RecordSizes& sizes) {
  const std::lock_guard lock(mutex_);
  sizes_ = sizes;
}

void BufferPool::close() noexcept {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    for (const int index : free_)
      madvise(arena_ + at(index) * options_.buffer_bytes, options_.buffer_bytes, MADV_DONTNEED);
  }
  wake_.notify_all();
}

std::optional<FilledBuffer> BufferPool::next(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, timeout, [&] { return queue_size_ > 0 || closed_; });
  if (queue_size_ == 0) return std::nullopt;
  const FilledBuffer full = queue_[queue_begin_];
  queue_begin_ = (queue_begin_ + 1) % queue_.size();
  --queue_size_;
  return full;
}

bool BufferPool::drained() const {
  const std::lock_guard lock(mutex_);
  return closed_ && queue_size_ == 0;
}

void BufferPool::release(const FilledBuffer& buffer) noexcept {
  const std::lock_guard lock(mutex_);
  states_[at(buffer.index)] = State::kFree;
  free_.push_back(buffer.index);  // never allocates: there was room for all
  if (closed_) madvise(arena_ + at(buffer.index) * options_.buffer_bytes, options_.buffer_bytes, MADV_DONTNEED);
}

}  // namespace spscope::cupti
