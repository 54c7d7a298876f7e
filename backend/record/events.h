// Events: what happened and when, as records of fixed layout on tracks.
//
// A track is a row of events: a lane of a rank, a stream of a device, a thread of the host, a counter, or a row of
// another program's trace. On one track events never overlap: each begins at or after the end of the one before, or its
// begin where that one never ended. Times are whole nanoseconds of the run clock, or in a shard of the raw clock of its
// host. A record's layout, the numbers of categories and kinds and the meaning of flag bits are stored: they are only
// ever added to.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "backend/base/ids.h"

namespace spscope {

enum class TrackId : std::int64_t {};
// The run of events that belong to none; keys of runs begin at 1.
inline constexpr RunId kNoRun{0};
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
  kLatePeer = 6,  // no event has it: in sums of pyramids, the wait of a transfer before its last partner had entered
  // What a device and the calls of its programs did (work_detail.h), as collectors saw it:
  kKernel = 7,
  kCopy = 8,
  kMemset = 9,
  kSynchronize = 10,  // a thread of the host waited for a device
  kApi = 11,          // a call of CUDA's runtime or driver, or of NCCL
  kOverhead = 12,     // what the driver or a collector took for itself
  kAnnotation = 13,   // a range that the program named, as with NVTX
};
inline constexpr int kNumEventCategories = 14;
std::string_view event_category_name(EventCategory category);

// Bits of SpanEvent::flags: 0-7 category, 8-15 depth for display, then these.
inline constexpr std::uint32_t kEventUnfinished = 1u << 16;  // it had not ended when recording stopped
// It began before the event before it on its track ended, or ended before it began: what lay too early was moved.
inline constexpr std::uint32_t kEventClamped = 1u << 17;
inline constexpr std::uint32_t kEventModelled = 1u << 18;  // its times come from a model, not from a clock
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

// The earliest moment at which the next event of its track may begin. One that never ended takes no time of its track.
constexpr std::int64_t next_begin_ns(const SpanEvent& event) {
  return event.end_ns == kNeverEnded ? event.begin_ns : event.end_ns;
}

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

// Key of a WorkDetail in the file's table; 0 is none.
using WorkDetailId = std::uint32_t;

// A span of one of the categories from kKernel on. `span.op_id` is of the plan op that asked for it, -1: none.
struct WorkEvent {
  SpanEvent span;
  std::int64_t bytes = 0;         // copied or set; 0: does not apply
  std::uint32_t correlation = 0;  // work and the call that asked for it have the same; 0: not known
  WorkDetailId detail = 0;
  friend bool operator==(const WorkEvent&, const WorkEvent&) = default;
};
static_assert(sizeof(WorkEvent) == 48);

// What a quantity was at a time.
struct CounterSample {
  std::int64_t time_ns = 0;
  double value = 0;
  friend bool operator==(const CounterSample&, const CounterSample&) = default;
};
static_assert(sizeof(CounterSample) == 16);

// What a track is. Stored numbers: append only.
enum class TrackKind : std::uint8_t {
  kRankLane = 0,      // lane of a rank: what it did for the ops of plans
  kDeviceStream = 1,  // queue of a device
  kHostThread = 2,    // thread of a program
  kCounter = 3,       // samples of one quantity, and no events
  kForeign = 4,       // any other row of another program's trace
};
inline constexpr int kNumTrackKinds = 5;
std::string_view track_kind_name(TrackKind kind);

struct Track {
  TrackId track_id = {};
  std::optional<int> rank = {}, lane = {};  // REQUIRES: a lane of a rank has both
  int slot = 0;                             // row within the lane
  // Its events may overlap: the one track of a lane that takes what found no slot, or the operations of a communicator.
  bool overlapping = false;
  TrackKind kind = TrackKind::kRankLane;
  std::string name = {};                    // for people; of a counter, what is counted; "" for lanes of ranks
  std::optional<std::string> process = {};  // program or process, where it is not that of the rank
  std::optional<std::string> device = {};
  friend bool operator==(const Track&, const Track&) = default;

  // Whether this is a track of that lane; tracks of other kinds may name a rank too.
  bool is_of(int of_rank, int of_lane) const {
    return kind == TrackKind::kRankLane && rank == of_rank && lane == of_lane;
  }
};
// "rank 3 lane 1", or what the track calls itself: "counter power of gpu 0".
std::string track_text(const Track& track);

// Where the events of a track went: sent = stored + dropped + unreadable + lost.
struct LedgerRecord {
  TrackId track_id = {};
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
