// Chunks as the file holds them, still packed: for merging, watching, and repairing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "backend/store/chunk/chunk_codec.h"
#include "backend/store/sqlite/sqlite.h"

namespace spscope {

// Which chunks: of a run (or of none: kNoRun), of a track, those that may hold events in the window, those after a
// chunk.
struct ChunkFilter {
  std::optional<RunId> run_id = {};
  std::optional<TrackId> track_id = {};
  EventWindow window = {};
  std::int64_t after_chunk_id = 0;
  // Where it is set: called for each chunk, with its chunk_id, whose row makes no sense, or at which the function
  // throws kStoreCorrupt. The next chunk follows then, and the window, which a damaged row may be outside of, does not
  // count.
  std::function<void(std::int64_t, const Error&)> on_bad = {};
};

struct StoredChunk {
  std::int64_t chunk_id = 0;
  RunId run_id = {};
  TrackId track_id = {};
  std::int64_t seq = 0;
  ChunkHeader header;
  std::span<const std::uint8_t> data;  // valid until the function that got it returns
};

// By track and seq; with neither run nor track by chunk_id. Throws Error (kStoreCorrupt) when a row makes no sense;
// the data is not looked at.
void for_each_chunk(Database& db, const ChunkFilter& filter, const std::function<void(const StoredChunk&)>& function);

}  // namespace spscope
