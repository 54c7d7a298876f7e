// Gathers events of many tracks and writes them as chunks: a row for every 4,096 events of one kind of a track and
// run, and what is left when the run changes and at flush(). Each kind of record has a chunk of its own, so chunks of a
// track that holds several kinds overlap in time; those of one kind follow each other. For one thread.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "backend/store/chunk/chunk_codec.h"
#include "backend/store/sqlite/sqlite.h"

namespace spscope {

class ChunkAppender {
 public:
  // What is gathered of one track.
  struct Open {
    TrackId track = {};
    RunId run = {};
    std::int64_t next_seq = 0;
    bool waiting = false;  // it has events
    std::vector<SpanEvent> spans;
    std::vector<CollectiveEvent> collectives;
    std::vector<CounterSample> counters;
    std::vector<WorkEvent> work;
  };

  ChunkAppender(Database& db, Compress compress);

  // Stays where it is. REQUIRES: the file holds no chunk of the track but those written here.
  Open& at(TrackId track);
  void append(RunId run, Open& open, std::span<const SpanEvent> events);
  void append(RunId run, Open& open, std::span<const CollectiveEvent> events);
  void append(RunId run, Open& open, std::span<const CounterSample> samples);
  void append(RunId run, Open& open, std::span<const WorkEvent> work);
  // Writes all that waits, in the order in which the tracks got their first event since the last call.
  void flush();

 private:
  template <typename Record>
  void add(RunId run, Open& open, std::vector<Record>& buffer, std::span<const Record> records);
  template <typename Record>
  void write(Open& open, std::vector<Record>& buffer);
  void write_all(Open& open);

  Compress compress_;
  Statement insert_;
  std::unordered_map<std::int64_t, Open> tracks_;
  std::vector<Open*> waiting_;
};

}  // namespace spscope
