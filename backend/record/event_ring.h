// EventRing: the way of an event, or of a sample of a counter, from the thread that it happened on to the one that
// writes it to a file. A ring is of one track.
//
// One thread pushes, one writer takes. Nothing locks and nothing waits: a record that finds no room is dropped and
// counted, since a profiler must not slow down what it measures. The two ends keep their counters on cache lines of
// their own and a copy of the other's, which is read again only when the copy says that the ring is full, or empty. All
// memory is touched at the start, so that no push meets a page fault.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "backend/record/events.h"

namespace spscope {

// What a record of a ring is.
enum class RingKind : std::uint32_t { kSpan = 0, kCollective = 1, kCounter = 2 };

// An event with the run it belongs to, or a sample. A transfer's entry is its span's begin, its transfer's end its
// span's end.
struct RingRecord {
  SpanEvent span;      // of a sample, span.begin_ns is the time
  RunId run = kNoRun;  // kNoRun: of no run
  std::int64_t transfer_begin_ns = 0;
  std::int64_t sequence = 0, bytes = 0;
  CommunicatorId communicator = 0;
  std::int32_t peer = -1;
  RingKind kind = RingKind::kSpan;  // of a span, all between the run and this has no meaning
  std::uint32_t reserved = 0;

  CollectiveEvent collective() const {
    return {span, span.begin_ns, transfer_begin_ns, span.end_ns, sequence, bytes, communicator, peer};
  }
  // The value lies where a transfer has its bytes.
  CounterSample counter() const { return {span.begin_ns, std::bit_cast<double>(bytes)}; }
  static RingRecord of(const CounterSample& sample, RunId run = kNoRun) {
    RingRecord record;
    record.span.begin_ns = record.span.end_ns = sample.time_ns;
    record.run = run;
    record.bytes = std::bit_cast<std::int64_t>(sample.value);
    record.kind = RingKind::kCounter;
    return record;
  }
};
static_assert(sizeof(RingRecord) == 80);

class EventRing {
 public:
  // Room for at least so many records.
  explicit EventRing(std::size_t capacity);
  EventRing(const EventRing&) = delete;
  EventRing& operator=(const EventRing&) = delete;

  std::size_t capacity() const { return mask_ + 1; }

  // -- by the pushing thread alone
  // Whether there was room.
  bool push(const RingRecord& record) noexcept {
    const std::uint64_t end = pushed_.load(std::memory_order_relaxed);
    if (end - taken_seen_ > mask_) {
      taken_seen_ = taken_.load(std::memory_order_acquire);
      if (end - taken_seen_ > mask_) {
        dropped_.store(dropped_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        return false;
      }
    }
    records_[end & mask_] = record;
    pushed_.store(end + 1, std::memory_order_release);
    return true;
  }

  // -- by the writer alone
  // Records that wait, in order, up to where the ring's memory ends: the rest comes after release().
  std::span<const RingRecord> waiting() noexcept {
    const std::uint64_t begin = taken_.load(std::memory_order_relaxed);
    if (pushed_seen_ == begin) pushed_seen_ = pushed_.load(std::memory_order_acquire);
    const std::size_t at = begin & mask_;
    const std::size_t count = static_cast<std::size_t>(pushed_seen_ - begin);
    return {records_.get() + at, count < mask_ + 1 - at ? count : mask_ + 1 - at};
  }
  // Gives back the room of the first `count` records of waiting().
  void release(std::size_t count) noexcept {
    taken_.store(taken_.load(std::memory_order_relaxed) + count, std::memory_order_release);
  }

  // -- by anybody
  std::int64_t dropped() const noexcept { return static_cast<std::int64_t>(dropped_.load(std::memory_order_relaxed)); }
  std::int64_t sent() const noexcept {
    return static_cast<std::int64_t>(pushed_.load(std::memory_order_relaxed)) + dropped();
  }

 private:
  static constexpr std::size_t kCacheLine = 64;
  std::size_t mask_;
  std::unique_ptr<RingRecord[]> records_;
  alignas(kCacheLine) std::atomic<std::uint64_t> pushed_{0}, dropped_{0};  // of the pushing thread
  std::uint64_t taken_seen_ = 0;
  alignas(kCacheLine) std::atomic<std::uint64_t> taken_{0};  // of the writer
  std::uint64_t pushed_seen_ = 0;
  char padding_[kCacheLine - 2 * sizeof(std::uint64_t)] = {};
};

}  // namespace spscope
