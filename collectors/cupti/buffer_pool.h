// BufferPool: the memory into which CUPTI writes records, and the queue of what it has written.
//
// CUPTI asks for an empty buffer and hands over a full one on threads of the program that is watched, so take() and
// filled() decode nothing, wait for nobody who decodes, and throw nothing. One thread takes full buffers by next(), in
// the order in which they came, and gives each back by release().
//
// Memory is bounded: 56 buffers of 1 MiB, touched as they are used. NVIDIA advises 1 to 10 MB; small ones, because
// CUPTI keeps a buffer until all in it has ended, and with the host ahead of the device that is when it is full: at 280
// bytes a launch, which is a kernel, its call and its correlation, after 3,700 launches. When all are with CUPTI or
// wait to be decoded, a request still gets memory, because CUPTI before 12.9 may crash when it is refused: an overflow
// buffer of 16 KiB, whose records are counted as dropped when it comes back. 256 of these may be out at once, in all 60
// MiB. The request after them is refused, and CUPTI counts what it drops. That takes 312 buffers in CUPTI's hands, and
// so CUPTI 13 with a buffer for each thread, which may be refused.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "collectors/cupti/records.h"

namespace spscope::cupti {

struct PoolOptions {
  std::size_t buffer_bytes = std::size_t{1} << 20;  // a multiple of 8
  int num_buffers = 56;
  std::size_t overflow_bytes = std::size_t{16} << 10;  // likewise
  int max_overflow = 256;
};

struct FilledBuffer {
  std::span<const std::uint8_t> valid;
  int index = 0;
};

struct PoolCounts {
  std::int64_t filled = 0;           // buffers that were queued
  std::int64_t overflowed = 0;       // requests that got an overflow buffer
  std::int64_t refused = 0;          // requests that got none
  std::int64_t dropped_records = 0;  // in overflow buffers, and in buffers that came after close()
  friend bool operator==(const PoolCounts&, const PoolCounts&) = default;
};

class BufferPool {
 public:
  BufferPool(const PoolOptions& options, const RecordSizes& sizes);
  // REQUIRES: CUPTI has given all buffers back.
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  // -- any thread
  // An empty buffer, aligned to 8 bytes; nothing when it is refused.
  std::span<std::uint8_t> take() noexcept;
  // The buffer comes back with so many bytes of records. False, without touching it: it is not out of this pool.
  bool filled(std::uint8_t* buffer, std::size_t valid_bytes) noexcept;
  PoolCounts counts() const;
  // Buffers that CUPTI has.
  int num_out() const;
  // Memory that was ever written to, of buffers that came back, and overflow buffers that were out at once.
  std::int64_t most_bytes() const;
  // Of the records in it, where the library did not tell before.
  void set_sizes(const RecordSizes& sizes);
  // Nothing is queued any more: what is filled from now on counts as dropped. What was queued stays.
  void close() noexcept;

  // -- the decoding thread
  // The oldest full buffer. Nothing when none came for that long, or the pool is closed and empty.
  std::optional<FilledBuffer> next(std::chrono::milliseconds timeout);
  // Closed, and every buffer that was queued has been taken by next().
  bool drained() const;
  void release(const FilledBuffer& buffer) noexcept;

 private:
  enum class State : std::uint8_t { kFree, kOut, kQueued };
  std::span<std::uint8_t> take_overflow() noexcept;
  bool filled_overflow(std::uint8_t* buffer, std::size_t valid_bytes) noexcept;
  int index_of(const std::uint8_t* buffer) const;

  const PoolOptions options_;
  std::uint8_t* arena_ = nullptr;  // num_buffers * buffer_bytes
  mutable std::mutex mutex_;       // of what follows
  RecordSizes sizes_;
  std::condition_variable wake_;
  std::vector<State> states_;         // of each buffer
  std::vector<std::size_t> written_;  // most bytes of each buffer
  std::vector<int> free_;             // taken from the end, so that few buffers are touched when few are needed
  std::vector<FilledBuffer> queue_;   // a ring of num_buffers
  std::size_t queue_begin_ = 0, queue_size_ = 0;
  std::vector<std::uint8_t*> overflow_;       // that are out; null: a place that is free
  int overflow_out_ = 0, most_overflow_ = 0;  // of them
  PoolCounts counts_;
  bool closed_ = false;
};

}  // namespace spscope::cupti
