#include "backend/store/merge_events.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <thread>
#include <utility>

#include "backend/base/result.h"
#include "backend/store/chunk_appender.h"
#include "backend/store/lod_store.h"
#include "backend/store/merge_pipe.h"

namespace spscope {

namespace {

struct FinishedTrack {
  int rank = 0;
  std::optional<StreamId> stream;
  LodLevel base;
};

// Events of one stream, run and kind, ready to be packed; and the tracks that these events finished.
struct EventBatch {
  StreamId stream = {};
  RunId run = {};
  RecordKind kind = RecordKind::kSpan;
  std::vector<SpanEvent> spans;  // of collectives too, for the pyramids
  std::vector<CollectiveEvent> collectives;
  std::vector<CounterSample> counters;
  std::vector<FinishedTrack> tracks;

  std::size_t size() const {
    return kind == RecordKind::kSpan         ? spans.size()
           : kind == RecordKind::kCollective ? collectives.size()
                                             : counters.size();
  }
  void clear() {
    spans.clear();
    collectives.clear();
    counters.clear();
    tracks.clear();
  }
};

// How many events a track has and from when to when, before any is decoded.
struct TrackSize {
  std::int64_t events = 0;
  std::int64_t first_ns = std::numeric_limits<std::int64_t>::max(), last_ns = std::numeric_limits<std::int64_t>::min();
  int streams = 0;

  void add(std::int64_t num_events, std::int64_t begin_ns, std::int64_t end_ns) {
    events += num_events;
    first_ns = std::min(first_ns, begin_ns);
    last_ns = std::max(last_ns, end_ns);
  }
  std::optional<LodLevel> level() const {
    if (events == 0) return std::nullopt;
    return make_lod_level(lod_base_shift(events / std::max(1, streams), first_ns, last_ns), first_ns, last_ns);
  }
};

TrackSize size_of(const MergedStream& stream, std::int64_t recorded_until_ns) {
  TrackSize size;
  size.streams = 1;
  const auto end_of = [&](std::int64_t end_ns) { return end_ns == kNeverEnded ? recorded_until_ns : end_ns; };
  if (stream.from != nullptr)
    for (const ChunkPlace& chunk : stream.from->chunks) {
      if (chunk.header.kind == RecordKind::kCounter) continue;
      // At times near the ends of 64 bits, where products are rounded, a clock may turn neighbours around.
      const auto [first_ns, last_ns] = std::minmax(
          {on_run_clock(stream.fit, chunk.header.begin_min_ns), on_run_clock(stream.fit, chunk.header.begin_max_ns)});
      size.add(chunk.header.count, first_ns,
               std::max(last_ns, end_of(on_run_clock(stream.fit, chunk.header.end_max_ns))));
    }
  for (const UnfinishedOp& op : stream.unfinished) {
    const std::int64_t begin_ns = on_run_clock(stream.fit, op.span.begin_ns);
    size.add(1, begin_ns, std::max(begin_ns, recorded_until_ns));
  }
  return size;
}

// The reading half: decodes, renumbers, moves to the run clock, and counts buckets.
class Feed {
 public:
  Feed(const MergeEventsInput& input, MergePipe<EventBatch>& pipe) : input_(input), pipe_(pipe) {
    for (const MergedStream& stream : input.streams) {
      const TrackSize size = size_of(stream, input.recorded_until_ns);
      TrackSize& rank = ranks_[stream.stream.rank];
      if (size.events > 0) rank.add(size.events, size.first_ns, size.last_ns);
      ++rank.streams;
    }
  }

  std::int64_t clamped() const { return clamped_; }

  void run() {
    for (std::size_t i = 0; i < input_.streams.size(); ++i) {
      const MergedStream& stream = input_.streams[i];
      const int rank = stream.stream.rank;
      if (i == 0 || input_.streams[i - 1].stream.rank != rank) rank_level_ = ranks_[rank].level();
      if (!feed_stream(stream)) return;
      const bool last_of_rank = i + 1 == input_.streams.size() || input_.streams[i + 1].stream.rank != rank;
      if (!finish_tracks(stream, last_of_rank)) return;
    }
  }

 private:
  bool feed_stream(const MergedStream& stream) {
    last_end_ns_.fill(std::numeric_limits<std::int64_t>::min());
    stream_level_ = stream.stream.overlapping ? std::nullopt : size_of(stream, input_.recorded_until_ns).level();
    if (stream.from != nullptr) {
      const Renumbered& numbers = input_.numbers.at(stream.source);
      Statement data(*stream.source->db, kChunkData);
      for (const ChunkPlace& chunk : stream.from->chunks) {
        EventBatch batch = pipe_.take_empty();
        if (!data.bind_all(chunk.chunk_id).step())
          throw Error(ErrorCode::kStoreCorrupt, "cannot read \"" + stream.source->path + "\": a chunk went away");
        decode(chunk, data.blob(0), batch);
        data.reset();
        move(stream, numbers, batch);
        if (!send(stream, chunk.run, batch)) return false;
      }
    }
    for (const UnfinishedOp& op : stream.unfinished) {
      EventBatch batch = pipe_.take_empty();
      batch.kind = RecordKind::kSpan;
      batch.spans.push_back(op.span);
      std::int64_t& last_span_ns = last_end_ns_[static_cast<std::size_t>(RecordKind::kSpan)];
      last_span_ns = std::max(last_span_ns, last_end_ns_[static_cast<std::size_t>(RecordKind::kCollective)]);
      place(stream, RecordKind::kSpan, batch.spans.back());
      if (!send(stream, op.run, batch)) return false;
    }
    return true;
  }

  static void decode(const ChunkPlace& chunk, std::span<const std::uint8_t> data, EventBatch& batch) {
    batch.kind = chunk.header.kind;
    if (batch.kind == RecordKind::kSpan)
      decode_spans(chunk.header, data, batch.spans);
    else if (batch.kind == RecordKind::kCollective)
      decode_collectives(chunk.header, data, batch.collectives);
    else
      decode_counters(chunk.header, data, batch.counters);
  }

  // Puts an event on the run clock and after the one of its kind before it, as the stream promises.
  void place(const MergedStream& stream, RecordKind kind, SpanEvent& event) {
    std::int64_t& last_end_ns = last_end_ns_[static_cast<std::size_t>(kind)];
    event.begin_ns = on_run_clock(stream.fit, event.begin_ns);
    event.end_ns = on_run_clock(stream.fit, event.end_ns);
    if (!stream.stream.overlapping && event.begin_ns < last_end_ns) {
      event.begin_ns = last_end_ns;
      event.end_ns = std::max(event.begin_ns, event.end_ns);
      event.flags |= kEventClamped;
      ++clamped_;
    }
    if (event.end_ns != kNeverEnded) last_end_ns = std::max(last_end_ns, event.end_ns);
  }

  void move(const MergedStream& stream, const Renumbered& numbers, EventBatch& batch) {
    for (SpanEvent& event : batch.spans) {
      place(stream, RecordKind::kSpan, event);
      event.name = numbers.name(event.name);
    }
    for (CollectiveEvent& event : batch.collectives) {
      place(stream, RecordKind::kCollective, event.span);
      event.span.name = numbers.name(event.span.name);
      for (std::int64_t* time_ns : {&event.entry_ns, &event.transfer_begin_ns, &event.transfer_end_ns})
        *time_ns = on_run_clock(stream.fit, *time_ns);
      event.communicator = numbers.communicator(event.communicator);
      batch.spans.push_back(event.span);
    }
    for (CounterSample& sample : batch.counters) sample.time_ns = on_run_clock(stream.fit, sample.time_ns);
  }

  bool send(const MergedStream& stream, RunId run, EventBatch& batch) {
    if (stream_level_) add_events(*stream_level_, batch.spans, input_.recorded_until_ns);
    if (rank_level_) add_events(*rank_level_, batch.spans, input_.recorded_until_ns);
    batch.stream = stream.stream.stream_id;
    batch.run = run;
    return pipe_.push(std::move(batch));
  }

  bool finish_tracks(const MergedStream& stream, bool last_of_rank) {
    EventBatch batch = pipe_.take_empty();
    batch.stream = stream.stream.stream_id;
    const int rank = stream.stream.rank;
    if (stream_level_) batch.tracks.push_back({rank, stream.stream.stream_id, std::move(*stream_level_)});
    stream_level_.reset();
    if (last_of_rank && rank_level_) batch.tracks.push_back({rank, std::nullopt, std::move(*rank_level_)});
    return pipe_.push(std::move(batch));
  }

  const MergeEventsInput& input_;
  MergePipe<EventBatch>& pipe_;
  std::map<int, TrackSize> ranks_;
  std::optional<LodLevel> stream_level_, rank_level_;
  std::array<std::int64_t, kNumRecordKinds> last_end_ns_{};  // each kind has chunks of its own
  std::int64_t clamped_ = 0;
};

// The writing half.
void write_batches(Database& out, const MergeEventsInput& input, MergePipe<EventBatch>& pipe) {
  ChunkAppender chunks(out, input.codec);
  LodWriter pyramids(out, input.recorded_until_ns, input.codec == ChunkCodec::kPackedZstd);
  std::optional<StreamId> stream;
  std::int64_t done = 0;
  while (std::optional<EventBatch> batch = pipe.pop()) {
    if (input.interrupt != nullptr && input.interrupt->load())
      throw Error(ErrorCode::kInterrupted, "the merge was interrupted", "make the file later with spscope recover");
    if (stream != batch->stream) chunks.flush();
    stream = batch->stream;
    ChunkAppender::Open& open = chunks.at(batch->stream);
    if (batch->kind == RecordKind::kSpan)
      chunks.append(batch->run, open, batch->spans);
    else if (batch->kind == RecordKind::kCollective)
      chunks.append(batch->run, open, batch->collectives);
    else
      chunks.append(batch->run, open, batch->counters);
    for (FinishedTrack& track : batch->tracks) pyramids.add(track.rank, track.stream, std::move(track.base));
    done += static_cast<std::int64_t>(batch->size());
    if (input.on_progress) input.on_progress(done);
    batch->clear();
    pipe.give_back(std::move(*batch));
  }
  chunks.flush();
}

}  // namespace

NameId Renumbered::name(NameId id) const { return id < names.size() ? names[id] : 0; }

CommunicatorId Renumbered::communicator(CommunicatorId id) const {
  const auto found = communicators.find(id);
  return found != communicators.end() ? found->second : 0;
}

std::int64_t merge_events(Database& out, const MergeEventsInput& input) {
  MergePipe<EventBatch> pipe;
  Feed feed(input, pipe);
  std::optional<Result<bool>> fed;
  std::jthread reader([&] {
    fed = capture([&] {
      feed.run();
      return true;
    });
    pipe.finish();
  });
  const auto written = capture([&] {
    write_batches(out, input, pipe);
    return true;
  });
  pipe.abandon();
  reader.join();
  // What the reader met is the cause when both failed: the writer then only ran dry.
  if (!*fed) throw fed->error();
  if (!written) throw written.error();
  return feed.clamped();
}

}  // namespace spscope
