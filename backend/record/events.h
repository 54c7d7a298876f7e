// Events: what happened on which rank and when, as records of fixed layout in streams.
//
// A stream is (rank, lane, slot). Inside one, events never overlap: each begins at or after the end of the one before,
// so begins and ends both increase. Times are whole nanoseconds of the run clock, or in the shard of a rank of its raw
// clock. A record's layout, the numbers of
// categories and the meaning of flag bits are stored: they are only ever added to.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

#include "backend/base/ids.h"

namespace spscope {

enum class StreamId : std::int64_t {};
// Key of a name in the file's string table; 0 is the empty name.
using NameId = std::uint32_t;
// Key of a (lane, ranks) pair: the ranks that a collective joins on a lane.
using CommunicatorId = std::uint32_t;

// What an event is, for colour and sums. Stored numbers: append only, at most 16.
enum class EventCategory : std::uint8_t {
  kOther = 0,
  kAttend = 1,     // attention kernels
  kLocal = 2,      // token-local kernels: norms, RoPE, GEMM
  kRearrange = 3,  // merges, normalisation, copies inside a rank
  kTransfer = 4,   // data between ranks
  kBarrier = 5,
};
inline constexpr int kNumEventCategories = 6;
std::string_view event_category_name(EventCategory category);

// Bits of SpanEvent::flags: 0-7 category, 8-15 depth for display, then these.
inline constexpr std::uint32_t kEventUnfinished = 1u << 16;  // it had not ended when recording stopped
inline constexpr std::uint32_t kEventClamped = 1u << 17;     // its end lay before its begin and was moved there
inline constexpr std::uint32_t kEventModelled = 1u << 18;    // its times come from a model, not from a clock
constexpr std::uint32_t event_flags(EventCategory category, int depth = 0) {
  return static_cast<std::uint32_t>(category) | static_cast<std::uint32_t>(depth & 0xff) << 8;
}
constexpr EventCategory event_category(std::uint32_t flags) { return static_cast<EventCategory>(flags & 0xffu); }

inline constexpr std::int64_t kNeverEnded = std::numeric_limits<std::int64_t>::max();

struct SpanEvent {
  std::int64_t begin_ns = 0, end_ns = 0;  // end == begin: an instant; kNeverEnded with kEventUnfinished
  std::int64_t op_id = -1;                // of the run's plan; -1: none
  NameId name = 0;
  std::uint32_t flags = 0;
  friend bool operator==(const SpanEvent&, const SpanEvent&) = default;
};
static_assert(sizeof(SpanEvent) == 32);

// A span that moved data between ranks. span.begin_ns is when the rank entered.
struct CollectiveEvent {
  SpanEvent span;
  std::int64_t entry_ns = 0;           // the rank entered
  std::int64_t transfer_begin_ns = 0;  // the last partner had entered: data could move
  std::int64_t transfer_end_ns = 0;
  std::int64_t sequence = 0;  // of its communicator: the post of the plan
  std::int64_t bytes = 0;     // sent by this rank
  CommunicatorId communicator = 0;
  std::int32_t peer = -1;  // the only other rank; -1 when there are several
  friend bool operator==(const CollectiveEvent&, const CollectiveEvent&) = default;
};
static_assert(sizeof(CollectiveEvent) == 80);

// What a quantity was at a time.
struct CounterSample {
  std::int64_t time_ns = 0;
  double value = 0;
  friend bool operator==(const CounterSample&, const CounterSample&) = default;
};
static_assert(sizeof(CounterSample) == 16);

struct Stream {
  StreamId stream_id = {};
  int rank = 0, lane = 0, slot = 0;
  bool overlapping = false;  // holds what found no slot: the one kind of stream whose events may overlap
  friend bool operator==(const Stream&, const Stream&) = default;
};

// Where the events of a stream went: sent = stored + dropped + unreadable + lost.
struct LedgerRecord {
  StreamId stream_id = {};
  std::int64_t sent = 0, stored = 0, dropped = 0, unreadable = 0, lost = 0;
  friend bool operator==(const LedgerRecord&, const LedgerRecord&) = default;
};

struct EventWindow {
  std::int64_t begin_ns = std::numeric_limits<std::int64_t>::min(), end_ns = kNeverEnded;
  // [begin, end) holds an event that begins before its end, and ends after its begin or is an instant at or after it.
  bool holds(const SpanEvent& e) const {
    return e.begin_ns < end_ns && (e.end_ns > begin_ns || (e.begin_ns == e.end_ns && e.end_ns >= begin_ns));
  }
};

}  // namespace spscope
