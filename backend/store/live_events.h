// LiveEvents: the events of a collection while its shards are being written, on the run clock as a merge would put them
// there. Each poll() decodes only what was committed since the one before. Of a long run only the newest events are
// held; of older ones what a picture needs of them: neither memory nor the work of a look grow with the run.
//
// Only reads, and no longer than it takes to copy some packed chunks: a read that is held makes the log of a shard
// grow. A shard that is removed, or merged, adds nothing any more; what was read of it stays. What a lane does at the
// moment is not an event yet: RunWatch tells it.
#pragma once

#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/record/events.h"
#include "backend/store/pyramid/lod_pyramid.h"

namespace spscope {

// Events of a track that are held, of each kind in the order in which the track has them. Names are those of
// LiveEvents::name().
struct LiveTrack {
  Track track;  // track_id: that of its shard
  // Of events that are no longer held: how many, and what they did when. No buckets: all are held.
  std::int64_t older_events = 0;
  LodLevel older;
  // Of all events: the first begin, and the last moment that any of them knows of.
  std::int64_t first_ns = std::numeric_limits<std::int64_t>::max(), last_ns = 0;
  std::vector<SpanEvent> spans;  // and work
  std::vector<RunId> span_runs;  // of each span
  std::vector<CollectiveEvent> collectives;
  std::vector<RunId> collective_runs;

  std::int64_t num_events() const { return older_events + std::ssize(spans) + std::ssize(collectives); }
};

// Throws nothing but std::bad_alloc: a shard that cannot be read now is read at a later poll(), or never. For one
// thread at a time.
class LiveEvents {
 public:
  // 100 to 300 MB, with what they were before they came to the run clock.
  static constexpr std::int64_t kMostHeld = 1'000'000;
  // `most_held`: events, of all tracks together.
  explicit LiveEvents(std::int64_t most_held = kMostHeld);
  ~LiveEvents();
  LiveEvents(LiveEvents&&) noexcept;
  LiveEvents& operator=(LiveEvents&&) noexcept;

  // `shards`: the paths of those that are there now (CollectingNote::shards()). Returns how many events are new.
  std::int64_t poll(std::span<const std::string> shards);
  // Ranks in order, of each its lanes and slots first; tracks without a rank last. Counters are left out. Valid, as
  // all below, until the next poll().
  const std::vector<const LiveTrack*>& tracks() const;
  const std::string& name(NameId id) const;
  // How often the run clock became known better: then the times of events of earlier polls changed too.
  int clock_changes() const;
  // The last moment that any event knows of: where unfinished ones are taken to end. 0 at first.
  std::int64_t recorded_until_ns() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace spscope
