// Events: what happened on which rank and when, as records of fixed layout in streams.
//
// A stream is (rank, lane, slot). Inside one, events never overlap: each begins at or after the end of the one before,
// so begins and ends both increase. Times are whole nanoseconds of the run clock, or in the shard of a rank of its raw
// clock. A record's layout, the numbers of
// categories and the meaning of flag bits are stored: they are only ever added to.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/store/records.h"

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

class Database;
enum class ChunkCodec : std::uint8_t;
struct ChunkFilter;
struct StoredChunk;

// Appends events to a store that is being written, as chunks. Not for several threads.
class EventWriter {
 public:
  EventWriter(Database& db, ChunkCodec codec);
  ~EventWriter();

  // The stream of this key, made when it is new.
  StreamId stream(int rank, int lane, int slot, bool overlapping = false);
  // Invalid UTF-8 is repaired, long names are cut at 64 KiB; both are counted in the file's `meta` table.
  NameId name(std::string_view text);
  // `ranks` in group order.
  CommunicatorId communicator(int lane, std::span<const int> ranks);

  // REQUIRES: events of a stream that is not overlapping come in order, also over several calls.
  void append(RunId run, StreamId stream, std::span<const SpanEvent> events);
  void append(RunId run, StreamId stream, std::span<const CollectiveEvent> events);
  // REQUIRES: the stream holds nothing else, and the samples come in order.
  void append(RunId run, StreamId stream, std::span<const CounterSample> samples);
  // Count events that were sent to the stream and will not be stored.
  void count_dropped(StreamId stream, std::int64_t events);
  void count_unreadable(StreamId stream, std::int64_t events);
  void count_lost(StreamId stream, std::int64_t events);
  // The end of the latest event that ended; 0 when there is none.
  std::int64_t last_end_ns() const;
  // Writes what is buffered, and the ledger so far.
  void flush();
  // The same for the last time. Called once, by the store writer, before it commits.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The times of an event that a plan's op caused, on the run clock. Of an event that moved no data, begin is post.
struct OpEvent {
  std::int64_t op_id = 0;
  std::int64_t post_ns = 0, begin_ns = 0, end_ns = 0;
  int rank = 0;
};

// Reads events of a store.
class EventReader {
 public:
  explicit EventReader(Database& db);

  std::vector<Stream> streams() const;
  // Spans of the stream in the window, collectives among them as plain spans, in order of time. The stream's events of
  // all runs, or of one.
  std::vector<SpanEvent> spans(StreamId stream, EventWindow window = {}) const;
  std::vector<SpanEvent> spans(RunId run, StreamId stream, EventWindow window = {}) const;
  std::vector<CollectiveEvent> collectives(RunId run, StreamId stream, EventWindow window = {}) const;
  std::vector<CounterSample> counters(RunId run, StreamId stream, EventWindow window = {}) const;
  // Events of ops of all streams that were posted in [first_ns, last_ns], in one pass over them and in no order.
  std::vector<OpEvent> op_events(RunId run, std::int64_t first_ns, std::int64_t last_ns) const;
  // Chunks as they are stored: stored_chunk.h.
  void for_each_chunk(const ChunkFilter& filter, const std::function<void(const StoredChunk&)>& function) const;
  std::string name(NameId id) const;
  std::vector<LedgerRecord> ledger() const;

 private:
  Database* db_;
};

}  // namespace spscope
