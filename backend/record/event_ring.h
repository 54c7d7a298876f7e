// EventRing: a single-producer, single-consumer queue of events, or of samples of a counter, from the thread on which
// they happened to the thread that writes them to a file. Each track has a ring.
//
// Lock-free and wait-free: when the ring is full a record is dropped and counted, since a profiler must not slow down
// what it measures. Producer and consumer keep their counters on separate cache lines, each with a cached copy of the
// other's, which is refreshed only when the ring appears full or empty. All memory of its own is touched at
// construction, so that no push causes a page fault.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "backend/record/events.h"
#include "backend/record/reader_sleep.h"

namespace spscope {

// What a record of a ring is.
enum class RingKind : std::uint32_t { kSpan = 0, kCollective = 1, kCounter = 2, kWork = 3 };

// An event with its run, or a sample. Of a collective, the entry is the begin of the span and the end of its transfer
// the span's end.
struct RingRecord {
  SpanEvent span;      // of a sample, span.begin_ns is the time
  RunId run = kNoRun;  // kNoRun: of no run
  std::int64_t transfer_begin_ns = 0;
  std::int64_t sequence = 0, bytes = 0;
  CommunicatorId communicator = 0;
  std::int32_t peer = -1;
  RingKind kind = RingKind::kSpan;  // kSpan: transfer_begin_ns, sequence, bytes, communicator and peer are unused
  std::uint32_t reserved = 0;

  CollectiveEvent collective() const {
    return {span, span.begin_ns, transfer_begin_ns, span.end_ns, sequence, bytes, communicator, peer};
  }
  // A piece of work has its correlation where a transfer has its sequence, and its detail where that has its
  // communicator.
  WorkEvent work() const { return {span, bytes, static_cast<std::uint32_t>(sequence), communicator}; }
  static RingRecord of(const WorkEvent& work, RunId run = kNoRun) {
    RingRecord record;
    record.span = work.span;
    record.run = run;
    record.bytes = work.bytes;
    record.sequence = work.correlation;
    record.communicator = work.detail;
    record.kind = RingKind::kWork;
    return record;
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

// Where the two sides of a ring are. In memory that two processes share it begins as zeros.
struct RingCounters {
  static constexpr std::size_t kCacheLine = 64;
  alignas(kCacheLine) std::atomic<std::uint64_t> pushed{0}, dropped{0};  // written by the producer
  alignas(kCacheLine) std::atomic<std::uint64_t> taken{0};               // written by the consumer
};

class EventRing {
 public:
  // Room for at least `capacity` records: the next power of two. A record that is pushed wakes `sleep`, that of the
  // consumer, which outlives the ring; null: the consumer looks by itself.
  explicit EventRing(std::size_t capacity, ReaderSleep* sleep = nullptr);
  // In memory of somebody else, which outlives it. REQUIRES: nothing was pushed; as many records as a power of two.
  EventRing(RingCounters& counters, std::span<RingRecord> records, ReaderSleep* sleep = nullptr);
  EventRing(const EventRing&) = delete;
  EventRing& operator=(const EventRing&) = delete;

  std::size_t capacity() const { return mask_ + 1; }

  // -- producer: called by one thread only
  // False when the ring was full: the record is dropped and counted.
  bool push(const RingRecord& record) noexcept {
    const std::uint64_t end = counters_->pushed.load(std::memory_order_relaxed);
    if (end - taken_seen_ > mask_) {
      taken_seen_ = counters_->taken.load(std::memory_order_acquire);
      if (end - taken_seen_ > mask_) {
        std::atomic<std::uint64_t>& dropped = counters_->dropped;
        dropped.store(dropped.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        return false;
      }
    }
    records_[end & mask_] = record;
    if (sleep_ == nullptr) {
      counters_->pushed.store(end + 1, std::memory_order_release);
      return true;
    }
    counters_->pushed.store(end + 1, std::memory_order_seq_cst);
    sleep_->wake_from_sleep();
    return true;
  }
  // For how many there is room, at the least.
  std::size_t room() noexcept {
    taken_seen_ = counters_->taken.load(std::memory_order_acquire);
    return mask_ + 1 - static_cast<std::size_t>(counters_->pushed.load(std::memory_order_relaxed) - taken_seen_);
  }

  // Whether push() would find room.
  bool has_room() noexcept {
    const std::uint64_t end = counters_->pushed.load(std::memory_order_relaxed);
    if (end - taken_seen_ > mask_) taken_seen_ = counters_->taken.load(std::memory_order_acquire);
    return end - taken_seen_ <= mask_;
  }

  // -- consumer: called by the writer's thread only
  // The oldest records, contiguous in memory; after release() of all of them the next call may return more.
  std::span<const RingRecord> waiting() noexcept {
    const std::uint64_t begin = counters_->taken.load(std::memory_order_relaxed);
    if (pushed_seen_ == begin) pushed_seen_ = counters_->pushed.load(std::memory_order_seq_cst);
    const std::size_t at = begin & mask_;
    const std::size_t count = static_cast<std::size_t>(pushed_seen_ - begin);
    return {records_ + at, count < mask_ + 1 - at ? count : mask_ + 1 - at};
  }
  // Frees the first `count` records of waiting(). REQUIRES: count <= waiting().size().
  void release(std::size_t count) noexcept {
    std::atomic<std::uint64_t>& taken = counters_->taken;
    taken.store(taken.load(std::memory_order_relaxed) + count, std::memory_order_release);
  }

  // -- any thread
  std::int64_t dropped() const noexcept {
    return static_cast<std::int64_t>(counters_->dropped.load(std::memory_order_relaxed));
  }
  // Records pushed, dropped ones included.
  std::int64_t sent() const noexcept {
    return static_cast<std::int64_t>(counters_->pushed.load(std::memory_order_relaxed)) + dropped();
  }

 private:
  static constexpr std::size_t kCacheLine = RingCounters::kCacheLine;
  std::size_t mask_;
  std::unique_ptr<RingRecord[]> own_records_;  // null, as is the next, in memory of somebody else
  std::unique_ptr<RingCounters> own_counters_;
  RingRecord* records_;
  RingCounters* counters_;
  ReaderSleep* sleep_;
  alignas(kCacheLine) std::uint64_t taken_seen_ = 0;   // of the producer
  alignas(kCacheLine) std::uint64_t pushed_seen_ = 0;  // of the consumer
};

}  // namespace spscope
