#include "collectors/cupti/callbacks.h"

#include <atomic>
#include <memory>

#include "backend/base/clock.h"

namespace spscope::cupti {
namespace {

// A list whose end grows: callbacks read it without a lock.
struct UsedPool {
  std::unique_ptr<BufferPool> pool;
  UsedPool* before = nullptr;
};

std::atomic<UsedPool*> newest_pool{nullptr};

}  // namespace

BufferPool& use_new_pool(const PoolOptions& options, const RecordSizes& sizes) {
  auto used = std::make_unique<UsedPool>();
  used->pool = std::make_unique<BufferPool>(options, sizes);
  used->before = newest_pool.load();
  while (!newest_pool.compare_exchange_weak(used->before, used.get())) {
  }
  return *used.release()->pool;
}

void request_buffer(std::uint8_t** buffer, std::size_t* num_bytes, std::size_t* max_records) noexcept {
  UsedPool* const used = newest_pool.load();
  const std::span<std::uint8_t> given = used == nullptr ? std::span<std::uint8_t>() : used->pool->take();
  *buffer = given.data();
  *num_bytes = given.size();
  *max_records = 0;  // as many as fit
}

void complete_buffer(void*, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid_bytes) noexcept {
  for (UsedPool* used = newest_pool.load(); used != nullptr; used = used->before)
    if (used->pool->filled(buffer, valid_bytes)) return;
}

std::uint64_t raw_clock() noexcept { return static_cast<std::uint64_t>(now_ns()); }

}  // namespace spscope::cupti
