// The memory in which a program that is watched leaves its events for the process that stores them (`spscope attach`):
// a ring for each track, and a log of what events refer to. Whatever the program had published when it ended, however
// it ended, can still be read there.
//
// One process writes (shared_trace_sink.h), one reads (shared_trace_reader.h), and neither waits for the other. The
// reader sleeps while nothing comes (reader_sleep.h). It may say when events are wanted (collect_windows.h). All zeros
// is an empty one, and only pages that were written take memory. Both sides must be of one layout: the program says
// which it has when it asks for the memory (attach_request.h).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "backend/record/collect_windows.h"
#include "backend/record/event_ring.h"
#include "backend/record/reader_sleep.h"

namespace spscope {

struct SharedTrace {
  // Of this layout, of RingRecord, and of the numbers below.
  static constexpr std::uint32_t kVersion = 5;
  static constexpr int kMaxTracks = 1024, kMaxCollectors = 8;
  static constexpr std::size_t kLogBytes = std::size_t{32} << 20;
  static constexpr std::size_t kRecords = std::size_t{1} << 21;  // of all tracks together
  static constexpr std::size_t kLeastRecords = 256;              // of each track, however many there are

  struct TrackCounters {
    RingCounters ring;
    // Records that never reached the ring. They only grow.
    std::atomic<std::uint64_t> dropped{0}, unreadable{0};
  };

  // What a collector took, as of some moment: it is written now and then, and at its end.
  struct Cost {
    std::atomic<std::int64_t> thread_ns{0}, callback_ns{0}, memory_bytes{0}, records{0}, dropped{0};
    std::atomic<std::uint32_t> has_ended{0};
  };

  // What the log holds, one entry after the other. Entries are never changed, and come before the events that refer to
  // them. The n-th name has the number n, and so have details, tracks and collectors, names and details from 1 on.
  enum class Entry : std::uint32_t {
    kTrack = 1,       // TrackEntry, then its name and its device
    kName = 2,        // text
    kDetail = 3,      // WorkDetail
    kClock = 4,       // ClockFit
    kNote = 5,        // the number of a collector or kNoCollector, 4 bytes, then text: what is not collected, and why
    kCollector = 6,   // text: the name of one that was started
    kNotStarted = 7,  // text: the name of one that could not be; it has a number, too, for its notes
    kRank = 8,        // RankEntry
  };
  static constexpr std::size_t kNumEntries = 9;  // numbers of Entry, 0 among them
  static constexpr std::uint32_t kNoCollector = 0xffffffff;
  struct EntryHeader {
    Entry entry = {};
    std::uint32_t num_bytes = 0;  // that follow; the next entry begins at a multiple of 8
  };
  struct TrackEntry {
    std::uint64_t first_record = 0, num_records = 0;  // a power of two
    std::int32_t slot = 0;
    std::uint32_t kind = 0;  // TrackKind
    std::uint32_t name_bytes = 0, device_bytes = 0;
    std::uint32_t has_device = 0, overlapping = 0;
  };

  struct RankEntry {  // a RankClaim
    std::uint64_t communicator = 0;
    std::uint32_t source = 0;
    std::int32_t rank = 0, num_ranks = 0;
    std::uint32_t reserved = 0;
  };

  ReaderSleep reader;
  std::atomic<std::uint64_t> log_end{0};                        // bytes of the log that hold entries
  std::array<std::atomic<std::uint64_t>, kNumEntries> refused;  // by Entry, those that found no room
  std::array<TrackCounters, kMaxTracks> tracks;
  std::array<Cost, kMaxCollectors> costs;
  CollectWindows windows;
  alignas(8) std::array<std::uint8_t, kLogBytes> log;
  std::array<RingRecord, kRecords> records;
};
static_assert(SharedTrace::kMaxTracks * SharedTrace::kLeastRecords <= SharedTrace::kRecords);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::int64_t>::is_always_lock_free);

}  // namespace spscope
