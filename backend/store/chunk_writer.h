// Puts events of streams into chunk rows: up to 4,096 events of one kind and run a chunk, in the order in which they
// come. For one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "backend/store/chunk_codec.h"
#include "backend/store/events.h"

namespace spscope {

class Database;

class ChunkWriter {
 public:
  ChunkWriter(Database& db, ChunkCodec codec);
  ~ChunkWriter();

  // What is appended belongs to this stream, from its first chunk on. Ends the stream before.
  void begin_stream(StreamId stream);
  void append(RunId run, std::span<const SpanEvent> events);
  void append(RunId run, std::span<const CollectiveEvent> events);
  void append(RunId run, std::span<const CounterSample> samples);
  // Writes what is left of the stream.
  void end_stream();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace spscope
