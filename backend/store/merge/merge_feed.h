// The reading half of merge_events, on a thread of its own: decodes the chunks of all tracks, gives their events the
// names and the clock of the output, and counts the base buckets of all pyramids.
//
// It goes rank by rank, and then over the tracks without a rank, one by one. Of a rank it moves along time: up to a
// moment it reads those chunks of all tracks that can hold events until then, passes their events on, and adds those
// until then to the buckets. What is in memory is a chunk of each track and kind of one rank, and of each pyramid a
// window of buckets. Only of a track marked overlapping it may be more: an event waits, in 48 to 96 bytes, until all
// chunks were read in which an earlier one may be, and in such a track that may be the last one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "backend/store/merge/merge_events.h"
#include "backend/store/merge/merge_pipe.h"
#include "backend/store/pyramid/lod_fold.h"

namespace spscope {

// A track, or all lanes of a rank, whose buckets will come.
struct NewPyramid {
  std::int64_t pyramid_id = 0;
  std::optional<TrackId> track;
  LodRange base;
};

// The next base buckets of a pyramid.
struct PyramidBuckets {
  std::int64_t pyramid_id = 0;
  std::vector<LodBucket> buckets;
};

// What the reading half hands to the writing half: events of one track, run and kind, or pyramids, or buckets.
struct EventBatch {
  int group = 0;  // number of the rank, or of the track without one, in the order of feeding
  std::optional<int> rank;
  TrackId track = {};
  RunId run = {};
  std::vector<SpanEvent> spans;
  std::vector<CollectiveEvent> collectives;
  std::vector<CounterSample> counters;
  std::vector<WorkEvent> work;
  std::vector<NewPyramid> pyramids;
  std::vector<PyramidBuckets> buckets;

  std::size_t size() const { return spans.size() + collectives.size() + counters.size() + work.size(); }
  void clear() {
    spans.clear();
    collectives.clear();
    counters.clear();
    work.clear();
    pyramids.clear();
    buckets.clear();
  }
};

// Pushes the events of all tracks into the pipe, those of one track and kind in their order. Ends early when the pipe
// is abandoned. Throws Error: kStoreCorrupt. Returns how many events were moved, as merge_events does.
std::int64_t feed_events(const MergeEventsInput& input, MergePipe<EventBatch>& pipe);

}  // namespace spscope
