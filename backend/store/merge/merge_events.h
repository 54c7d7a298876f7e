// The events of all shards, put on the run clock and into full chunks of the output: one thread reads and decodes, the
// calling thread packs and writes.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <unordered_map>
#include <vector>

#include "backend/store/merge/merged_tracks.h"

namespace spscope {

// Numbers of the output by those of a source; 0 for one that the source does not have.
struct Renumbered {
  std::vector<NameId> names;
  std::map<CommunicatorId, CommunicatorId> communicators;
  std::unordered_map<WorkDetailId, WorkDetailId> details;

  NameId name(NameId id) const;
  CommunicatorId communicator(CommunicatorId id) const;
  WorkDetailId detail(WorkDetailId id) const;
};

struct MergeEventsInput {
  std::vector<MergedTrack> tracks;  // by rank, a rank's together; then those without a rank
  std::map<const MergeSource*, Renumbered> numbers;
  std::int64_t recorded_until_ns = 0;  // run clock
  const std::atomic<bool>* interrupt = nullptr;
  std::function<void(std::int64_t done)> on_progress;
};

// Writes the chunks and pyramids of all tracks. Throws Error: kStoreWrite, kStoreCorrupt, kInterrupted. Returns how
// many events were moved because they lay before the end of the one before.
std::int64_t merge_events(Database& out, const MergeEventsInput& input);

}  // namespace spscope
