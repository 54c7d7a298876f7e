// The reading half of merge_events, on a thread of its own: decodes the chunks of all streams, gives their events the
// names and the clock of the output, and counts the base buckets of all tracks.
//
// It goes rank by rank. Of a rank it moves along time: up to a moment it reads those chunks of all streams that can
// hold events until then, passes their events on, and adds those until then to the buckets. What is in memory is a
// chunk of each stream and kind of one rank, and of each track a window of buckets. Only of a stream marked overlapping
// it may be more: an event waits, in 32 to 64 bytes, until all chunks were read in which an earlier one may be, and in
// such a stream that may be the last one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "backend/store/merge/merge_events.h"
#include "backend/store/merge/merge_pipe.h"
#include "backend/store/pyramid/lod_fold.h"

namespace spscope {

// A stream, or all streams of a rank, whose buckets will come.
struct NewTrack {
  std::int64_t track_id = 0;
  std::optional<StreamId> stream;
  LodRange base;
};

// The next base buckets of a track.
struct TrackBuckets {
  std::int64_t track_id = 0;
  std::vector<LodBucket> buckets;
};

// What the reading half hands to the writing half: events of one stream, run and kind, or tracks, or buckets.
struct EventBatch {
  int rank = 0;
  StreamId stream = {};
  RunId run = {};
  std::vector<SpanEvent> spans;
  std::vector<CollectiveEvent> collectives;
  std::vector<CounterSample> counters;
  std::vector<NewTrack> tracks;
  std::vector<TrackBuckets> buckets;

  std::size_t size() const { return spans.size() + collectives.size() + counters.size(); }
  void clear() {
    spans.clear();
    collectives.clear();
    counters.clear();
    tracks.clear();
    buckets.clear();
  }
};

// Pushes the events of all streams into the pipe, those of one stream and kind in their order. Ends early when the pipe
// is abandoned. Throws Error: kStoreCorrupt. Returns how many events were moved, as merge_events does.
std::int64_t feed_events(const MergeEventsInput& input, MergePipe<EventBatch>& pipe);

}  // namespace spscope
