// The base level of a pyramid, made while the events of its track stream by in order of time: the buckets of a window
// that moves along are in memory, and the events that reach beyond it. A bucket leaves when no event that is still to
// come can begin in it or before it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "backend/store/pyramid/lod_pyramid.h"

namespace spscope {

// Buckets of a window that the caller moves no further than horizon_ns() at a time; what begins in one is counted by
// a loop over an array that the nearest caches hold.
inline constexpr std::int64_t kLodWindow = 256;

class LodFold {
 public:
  LodFold(const LodRange& range, std::int64_t recorded_until_ns);

  // The last moment of a window of kLodWindow buckets; nothing when no more than that are left.
  std::optional<std::int64_t> horizon_ns() const;
  // Makes buckets for events that begin up to then.
  void open(std::int64_t through_ns);
  // In any order. REQUIRES: they begin after the last close() and at most where open() said; what does not is left out
  // of buckets that are gone or not there.
  void add(std::span<const LodEvent> events);
  // No more events begin up to then: the buckets that this completes, which follow those of the call before.
  std::vector<LodBucket> close(std::int64_t through_ns);

 private:
  LodRange range_;
  std::int64_t recorded_until_ns_;
  LodLevel window_;
  std::vector<LodEvent> beyond_;  // events that touch buckets behind the window
};

}  // namespace spscope
