// EventWriter: appends events to a store that is being written, as chunks.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "backend/record/events.h"

namespace spscope {

class Database;
enum class Compress : bool;

// Appends events to a store that is being written, as chunks. Not for several threads.
class EventWriter {
 public:
  EventWriter(Database& db, Compress compress);
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

}  // namespace spscope
