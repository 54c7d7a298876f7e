#include "backend/store/merge/merge_feed.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <queue>
#include <span>
#include <utility>

#include "backend/base/result.h"
#include "backend/store/merge/keep_range.h"
#include "backend/store/merge/place_event.h"
#include "backend/store/sqlite/table_rows.h"

namespace spscope {

namespace {

using Limits = std::numeric_limits<std::int64_t>;

// How many events a pyramid has and from when to when, before any is decoded.
struct PyramidSize {
  std::int64_t events = 0;
  std::int64_t first_ns = Limits::max(), last_ns = Limits::min();
  int tracks = 0;

  void add(std::int64_t num_events, std::int64_t begin_ns, std::int64_t end_ns) {
    events += num_events;
    first_ns = std::min(first_ns, begin_ns);
    last_ns = std::max(last_ns, end_ns);
  }
  LodRange base() const { return lod_base_range(events / std::max(1, tracks), first_ns, last_ns); }
};

PyramidSize size_of(const MergedTrack& track, std::int64_t recorded_until_ns) {
  PyramidSize size;
  size.tracks = 1;
  const auto end_of = [&](std::int64_t end_ns) { return end_ns == kNeverEnded ? recorded_until_ns : end_ns; };
  if (track.from != nullptr)
    for (const ChunkPlace& chunk : track.from->chunks) {
      if (chunk.header.kind == RecordKind::kCounter) continue;
      // At times near the ends of 64 bits, where products are rounded, a clock may turn neighbours around.
      const auto [first_ns, last_ns] = std::minmax(
          {on_run_clock(track.fit, chunk.header.begin_min_ns), on_run_clock(track.fit, chunk.header.begin_max_ns)});
      size.add(chunk.header.count, first_ns,
               std::max(last_ns, end_of(on_run_clock(track.fit, chunk.header.end_max_ns))));
    }
  for (const UnfinishedOp& op : track.unfinished) {
    const std::int64_t begin_ns = on_run_clock(track.fit, op.span.begin_ns);
    size.add(1, begin_ns, std::max(begin_ns, recorded_until_ns));
  }
  return size;
}

// No event of a chunk begins earlier on the run clock; 2: what rounding may take away, of the steepest clock that is
// accepted at the largest time.
std::int64_t not_before_ns(const MergedTrack& track, const ChunkPlace& chunk) {
  constexpr std::int64_t kRounding = 2;
  const std::int64_t begin_ns = on_run_clock(track.fit, chunk.header.begin_min_ns);
  return begin_ns < Limits::min() + kRounding ? Limits::min() : begin_ns - kRounding;
}

struct BeginsLater {
  bool operator()(const LodEvent& a, const LodEvent& b) const { return a.span.begin_ns > b.span.begin_ns; }
};

// The chunks of one track and kind, in their order, and how far they are read.
struct KindFeed {
  struct Unread {
    const ChunkPlace* chunk;
    std::int64_t not_before_ns;  // nor do events of later chunks
  };
  std::vector<Unread> chunks;
  std::size_t num_read = 0;
  TrackPlaces places;  // of the events that are read
  // Events that are not in buckets yet: those that came in order of begin, behind the first that are, and those that
  // came after a later one.
  std::vector<LodEvent> waiting;
  std::size_t num_folded = 0;
  std::priority_queue<LodEvent, std::vector<LodEvent>, BeginsLater> late;

  bool is_read() const { return num_read == chunks.size(); }
  void keep(const LodEvent& event) {
    if (waiting.empty() || waiting.back().span.begin_ns <= event.span.begin_ns)
      waiting.push_back(event);
    else
      late.push(event);
  }
};

struct TrackFeed {
  const MergedTrack* track = nullptr;
  std::array<KindFeed, kNumRecordKinds> kinds;  // each has chunks of its own
  bool unfinished_read = false;
  std::int64_t pyramid_id = 0;
  std::optional<LodFold> fold;  // absent: the track has no pyramid

  KindFeed& of(RecordKind kind) { return kinds[static_cast<std::size_t>(kind)]; }
};

TrackFeed feed_of(const MergedTrack& track) {
  TrackFeed feed;
  feed.track = &track;
  if (track.from == nullptr) return feed;
  for (const ChunkPlace& chunk : track.from->chunks)
    feed.of(chunk.header.kind).chunks.push_back({&chunk, not_before_ns(track, chunk)});
  for (KindFeed& kind : feed.kinds)
    for (std::size_t i = kind.chunks.size(); i-- > 1;)
      kind.chunks[i - 1].not_before_ns = std::min(kind.chunks[i - 1].not_before_ns, kind.chunks[i].not_before_ns);
  return feed;
}

// The tracks of one rank, or one track without a rank. The pyramid of the rank is of its lanes alone.
class RankFeed {
 public:
  RankFeed(const MergeEventsInput& input, int group, std::span<const MergedTrack> tracks, MergePipe<EventBatch>& pipe)
      : input_(input), group_(group), rank_(tracks.front().track.rank), pipe_(pipe) {
    for (const MergedTrack& track : tracks) tracks_.push_back(feed_of(track));
  }

  std::int64_t clamped() const { return clamped_; }

  // False when the pipe is abandoned.
  bool run(std::int64_t& next_pyramid_id) {
    if (!open_pyramids(next_pyramid_id)) return false;
    for (std::int64_t through_ns = Limits::min(); through_ns < Limits::max();) {
      through_ns = next_horizon_ns();
      for_each_pyramid([&](std::int64_t, LodFold& fold) { fold.open(through_ns); });
      for (TrackFeed& feed : tracks_)
        if (!feed_track(feed, through_ns)) return false;
      EventBatch batch = pipe_.take_empty();
      for_each_pyramid([&](std::int64_t pyramid_id, LodFold& fold) {
        if (std::vector<LodBucket> buckets = fold.close(through_ns); !buckets.empty())
          batch.buckets.push_back({pyramid_id, std::move(buckets)});
      });
      if (!send(batch)) return false;
    }
    return true;
  }

 private:
  template <typename Function>
  void for_each_pyramid(const Function& function) {
    for (TrackFeed& feed : tracks_)
      if (feed.fold) function(feed.pyramid_id, *feed.fold);
    if (rank_fold_) function(rank_pyramid_id_, *rank_fold_);
  }

  bool open_pyramids(std::int64_t& next_pyramid_id) {
    EventBatch batch = pipe_.take_empty();
    const auto open = [&](std::optional<TrackId> track, const PyramidSize& size, std::optional<LodFold>& fold) {
      batch.pyramids.push_back({next_pyramid_id, track, size.base()});
      fold.emplace(size.base(), input_.recorded_until_ns);
      return next_pyramid_id++;
    };
    PyramidSize of_rank;
    for (TrackFeed& feed : tracks_) {
      const PyramidSize size = size_of(*feed.track, input_.recorded_until_ns);
      const Track& track = feed.track->track;
      const bool is_lane = track.kind == TrackKind::kRankLane;
      of_rank.tracks += is_lane;
      if (size.events == 0) continue;
      if (is_lane) of_rank.add(size.events, size.first_ns, size.last_ns);
      // The overlapping track of a lane is a part of its rank's and no row of its own.
      if (!is_lane || !track.overlapping) feed.pyramid_id = open(track.track_id, size, feed.fold);
    }
    if (of_rank.events > 0) rank_pyramid_id_ = open(std::nullopt, of_rank, rank_fold_);
    return send(batch);
  }

  // How far no pyramid needs more than a window of buckets.
  std::int64_t next_horizon_ns() {
    std::int64_t through_ns = Limits::max();
    for_each_pyramid([&](std::int64_t, const LodFold& fold) {
      through_ns = std::min(through_ns, fold.horizon_ns().value_or(Limits::max()));
    });
    return through_ns;
  }

  bool feed_track(TrackFeed& feed, std::int64_t through_ns) {
    for (KindFeed& kind : feed.kinds) {
      fold_waiting(feed, kind, through_ns);
      while (!kind.is_read()) {
        // What a track promises holds after place(): nothing begins before the end of what it read.
        const std::int64_t not_before_ns = kind.chunks[kind.num_read].not_before_ns;
        const bool ordered = !feed.track->track.overlapping;
        if (through_ns < (ordered ? std::max(not_before_ns, kind.places.next_begin_ns) : not_before_ns)) break;
        if (!read_chunk(feed, kind)) return false;
        fold_waiting(feed, kind, through_ns);
      }
    }
    return read_unfinished(feed, through_ns);
  }

  static void decode(const ChunkHeader& header, std::span<const std::uint8_t> bytes, EventBatch& batch) {
    if (header.kind == RecordKind::kSpan)
      decode_spans(header, bytes, batch.spans);
    else if (header.kind == RecordKind::kCollective)
      decode_collectives(header, bytes, batch.collectives);
    else if (header.kind == RecordKind::kWork)
      decode_work(header, bytes, batch.work);
    else
      decode_counters(header, bytes, batch.counters);
  }

  bool read_chunk(TrackFeed& feed, KindFeed& kind) {
    const ChunkPlace& chunk = *kind.chunks[kind.num_read++].chunk;
    const MergeSource& source = *feed.track->source;
    Statement& data = source.db->chunk_data();
    EventBatch batch = pipe_.take_empty();
    if (!data.bind_all(chunk.chunk_id).step())
      throw Error(ErrorCode::kStoreCorrupt, "cannot read \"" + source.path + "\": a chunk is missing");
    if (const std::optional<Error> bad = failure_of([&] { decode(chunk.stored(), data.blob(0), batch); })) {
      require_damage(*bad);
      throw Error(ErrorCode::kStoreCorrupt,
                  fmt::format("cannot read \"{}\": chunk {}: {}", source.path, chunk.chunk_id, bad->what()),
                  fmt::format("spscope recover \"{}\" -o FILE.db keeps what can be read", source.path));
    }
    data.reset();
    if (chunk.cut) {
      erase_outside(batch.spans, chunk.cut->range);
      erase_outside(batch.collectives, chunk.cut->range);
      erase_outside(batch.counters, chunk.cut->range);
      erase_outside(batch.work, chunk.cut->range);
    }
    move(feed, kind, batch);
    return send(feed, chunk.run, batch);
  }

  // What was still running goes behind all that the track holds.
  bool read_unfinished(TrackFeed& feed, std::int64_t through_ns) {
    KindFeed &spans = feed.of(RecordKind::kSpan), &collectives = feed.of(RecordKind::kCollective);
    if (feed.unfinished_read || !spans.is_read() || !collectives.is_read()) return true;
    feed.unfinished_read = true;
    spans.places.next_begin_ns = std::max(spans.places.next_begin_ns, collectives.places.next_begin_ns);
    for (const UnfinishedOp& op : feed.track->unfinished) {
      EventBatch batch = pipe_.take_empty();
      place(*feed.track, spans, batch.spans.emplace_back(op.span));
      spans.keep({.span = batch.spans.back()});
      if (!send(feed, op.run, batch)) return false;
    }
    fold_waiting(feed, spans, through_ns);
    return true;
  }

  void place(const MergedTrack& track, KindFeed& kind, SpanEvent& event) {
    clamped_ += kind.places.place(track.fit, track.track.overlapping, event);
  }

  void move(const TrackFeed& feed, KindFeed& kind, EventBatch& batch) {
    const MergedTrack& track = *feed.track;
    const Renumbered& numbers = input_.numbers.at(track.source);
    for (SpanEvent& event : batch.spans) {
      place(track, kind, event);
      event.name = numbers.name(event.name);
      kind.keep({.span = event});
    }
    for (CollectiveEvent& event : batch.collectives) {
      place(track, kind, event.span);
      event.span.name = numbers.name(event.span.name);
      put_transfer_on_run_clock(track.fit, event);
      kind.keep(lod_event(event));
      event.communicator = numbers.communicator(event.communicator);
    }
    for (WorkEvent& event : batch.work) {
      place(track, kind, event.span);
      event.span.name = numbers.name(event.span.name);
      event.detail = numbers.detail(event.detail);
      kind.keep({.span = event.span});
    }
    for (CounterSample& sample : batch.counters) sample.time_ns = on_run_clock(track.fit, sample.time_ns);
  }

  void fold_waiting(TrackFeed& feed, KindFeed& kind, std::int64_t through_ns) {
    const auto fold = [&](std::span<const LodEvent> events) {
      if (feed.fold) feed.fold->add(events);
      if (rank_fold_ && feed.track->track.kind == TrackKind::kRankLane) rank_fold_->add(events);
    };
    const auto first = kind.waiting.begin() + static_cast<std::ptrdiff_t>(kind.num_folded);
    const auto end = std::upper_bound(first, kind.waiting.end(), through_ns,
                                      [](std::int64_t ns, const LodEvent& event) { return ns < event.span.begin_ns; });
    fold({first, end});
    kind.num_folded = static_cast<std::size_t>(end - kind.waiting.begin());
    // Not each time: many may wait in a track that is in no order, and what is behind the erased ones moves up.
    if (kind.num_folded > kind.waiting.size() / 2) {
      kind.waiting.erase(kind.waiting.begin(), end);
      kind.num_folded = 0;
    }
    for (; !kind.late.empty() && kind.late.top().span.begin_ns <= through_ns; kind.late.pop())
      fold({&kind.late.top(), 1});
  }

  bool send(const TrackFeed& feed, RunId run, EventBatch& batch) {
    batch.track = feed.track->track.track_id;
    batch.run = run;
    return send(batch);
  }
  bool send(EventBatch& batch) {
    batch.group = group_;
    batch.rank = rank_;
    return pipe_.push(std::move(batch));
  }

  const MergeEventsInput& input_;
  const int group_;
  const std::optional<int> rank_;
  MergePipe<EventBatch>& pipe_;
  std::vector<TrackFeed> tracks_;
  std::int64_t rank_pyramid_id_ = 0;
  std::optional<LodFold> rank_fold_;
  std::int64_t clamped_ = 0;
};

}  // namespace

std::int64_t feed_events(const MergeEventsInput& input, MergePipe<EventBatch>& pipe) {
  std::int64_t clamped = 0, next_pyramid_id = 1;
  int group = 0;
  for (std::span<const MergedTrack> rest(input.tracks); !rest.empty(); ++group) {
    const std::optional<int> rank = rest.front().track.rank;
    const auto other_rank = std::ranges::find_if(rest, [&](const MergedTrack& t) { return t.track.rank != rank; });
    const auto num_tracks = rank ? static_cast<std::size_t>(other_rank - rest.begin()) : 1;
    RankFeed feed(input, group, rest.first(num_tracks), pipe);
    if (!feed.run(next_pyramid_id)) break;
    clamped += feed.clamped();
    rest = rest.subspan(num_tracks);
  }
  return clamped;
}

}  // namespace spscope
