#include "backend/store/live_events.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "backend/base/result.h"
#include "backend/store/chunk/chunk_row.h"
#include "backend/store/chunk/stored_chunk.h"
#include "backend/store/merge/merge_clock.h"
#include "backend/store/merge/place_event.h"
#include "backend/store/open_store.h"

namespace spscope {

namespace {

// Chunks that one read copies: about 10 MiB, some milliseconds.
constexpr int kChunksPerRead = 256;

struct CopiedChunk {
  std::int64_t chunk_id = 0;
  RunId run = {};
  TrackId track = {};
  ChunkHeader header;
  std::vector<std::uint8_t> data;
};

// Buckets of older events of a track: about as many as a picture has columns.
constexpr std::int64_t kOlderBuckets = 1024;

// Makes a level reach over [first_ns, last_ns], with wider buckets where they would be too many.
void reach(LodLevel& level, std::int64_t first_ns, std::int64_t last_ns) {
  int shift = 0;
  if (!level.buckets.empty()) {
    shift = level.shift;
    first_ns = std::min(first_ns, lod_begin_ns(level.first_bucket, shift));
    last_ns = std::max(last_ns, lod_begin_ns(level.first_bucket + std::ssize(level.buckets), shift) - 1);
  }
  while (lod_bucket(last_ns, shift) - lod_bucket(first_ns, shift) >= kOlderBuckets) ++shift;
  LodLevel wider = make_lod_level(shift, first_ns, last_ns);
  if (!level.buckets.empty())
    wider.buckets =
        lod_answer(level, shift, wider.first_bucket, wider.first_bucket + std::ssize(wider.buckets), last_ns);
  level = std::move(wider);
}

template <typename List>
void drop_first(List& list, std::ptrdiff_t count) {
  list.erase(list.begin(), list.begin() + count);
}

// A track with its held events as the shard has them: what is shown follows from them when the clock is known better.
struct RawTrack {
  LiveTrack shown;
  std::vector<SpanEvent> spans;  // and work; names are those of LiveEvents
  std::vector<RecordKind> span_kinds;
  std::vector<CollectiveEvent> collectives;
  std::optional<ClockFit> fit;
  std::array<TrackPlaces, kNumRecordKinds> placed;  // each kind has chunks of its own

  TrackPlaces& places(RecordKind kind) { return placed[static_cast<std::size_t>(kind)]; }

  void restart(const std::optional<ClockFit>& better) {
    fit = better;
    shown.spans.clear();
    shown.collectives.clear();
    shown.older_events = 0;
    shown.older = {};
    shown.first_ns = std::numeric_limits<std::int64_t>::max();
    shown.last_ns = 0;
    placed = {};
  }
  // Puts what is new on the run clock.
  void show() {
    const ClockFit* const line = fit ? &*fit : nullptr;
    for (std::size_t i = shown.spans.size(); i < spans.size(); ++i) {
      SpanEvent event = spans[i];
      places(span_kinds[i]).place(line, shown.track.overlapping, event);
      know(event);
      shown.spans.push_back(event);
    }
    for (std::size_t i = shown.collectives.size(); i < collectives.size(); ++i) {
      CollectiveEvent event = collectives[i];
      places(RecordKind::kCollective).place(line, shown.track.overlapping, event.span);
      put_transfer_on_run_clock(line, event);
      know(event.span);
      shown.collectives.push_back(event);
    }
  }
  // Holds at most so many events, the newest.
  void let_go_of_old(std::int64_t most) {
    if (std::ssize(spans) + std::ssize(collectives) <= most) return;
    show();
    const std::ptrdiff_t old_spans = std::max<std::ptrdiff_t>(0, std::ssize(spans) - most / 4);
    const std::ptrdiff_t old_collectives = std::max<std::ptrdiff_t>(0, std::ssize(collectives) - most / 4);
    std::vector<LodEvent> events;
    for (std::ptrdiff_t i = 0; i < old_spans; ++i) events.push_back({.span = shown.spans[static_cast<std::size_t>(i)]});
    for (std::ptrdiff_t i = 0; i < old_collectives; ++i)
      events.push_back(lod_event(shown.collectives[static_cast<std::size_t>(i)]));
    reach(shown.older, shown.first_ns, std::max(shown.first_ns, shown.last_ns));
    add_events(shown.older, events, shown.last_ns);
    shown.older_events += std::ssize(events);
    drop_first(spans, old_spans);
    drop_first(span_kinds, old_spans);
    drop_first(shown.spans, old_spans);
    drop_first(shown.span_runs, old_spans);
    drop_first(collectives, old_collectives);
    drop_first(shown.collectives, old_collectives);
    drop_first(shown.collective_runs, old_collectives);
  }

 private:
  void know(const SpanEvent& event) {
    shown.first_ns = std::min(shown.first_ns, event.begin_ns);
    shown.last_ns = std::max({shown.last_ns, event.begin_ns, event.end_ns == kNeverEnded ? 0 : event.end_ns});
  }
};

struct Shard {
  MergeSource source;  // its chunks are no more than the first moment of each track
  std::int64_t last_chunk = 0, last_string = -1;
  std::int64_t events = 0;  // that were read
  bool again = false;       // is to be read from its begin: its clock is known better, and not all events are held
  std::unordered_map<NameId, NameId> names;
  std::map<TrackId, RawTrack> tracks;
};

bool same_line(const std::optional<ClockFit>& a, const std::optional<ClockFit>& b) {
  const auto line = [](const ClockFit& fit) { return std::tuple(fit.raw_zero_ns, fit.offset_ns, fit.drift); };
  return a.has_value() == b.has_value() && (!a || line(*a) == line(*b));
}

// At most kChunksPerRead chunks behind the last.
struct CopiedChunks {
  std::vector<CopiedChunk> chunks;
  std::int64_t last = 0;  // chunk_id of the last one that was read, also of a damaged one
};
CopiedChunks copy_chunks(Database& db, std::int64_t after) {
  Statement rows(db, "SELECT chunk_id, run_id, track_id, " + std::string(kChunkHeaderColumns) +
                         ", data FROM main.chunk WHERE chunk_id > ? ORDER BY chunk_id LIMIT ?");
  rows.bind_all(after, kChunksPerRead);
  CopiedChunks copied{{}, after};
  while (rows.step()) {
    copied.last = rows.integer(0);
    const std::span<const std::uint8_t> data = rows.blob(12);
    static_cast<void>(failure_of([&] {
      copied.chunks.push_back({copied.last,
                               chunk_run(rows, 1),
                               TrackId{rows.integer(2)},
                               chunk_header(rows, 3),
                               {data.begin(), data.end()}});
    }));
  }
  return copied;
}

void read_tracks(Shard& shard) {
  Statement rows(shard.source.database(), "SELECT " + std::string(kTrackColumns) + " FROM main.track");
  while (rows.step()) {
    const Track track = track_of(rows);
    const auto [place, is_new] = shard.tracks.try_emplace(track.track_id);
    if (!is_new) continue;
    place->second.shown.track = track;
    shard.source.place_of_track.emplace(track.track_id, shard.source.tracks.size());
    shard.source.tracks.push_back({.track = track, .ledger = {}, .chunks = {}});
  }
}

}  // namespace

struct LiveEvents::State {
  NameId number(const std::string& text) {
    const auto [name, is_new] = numbers.try_emplace(text, static_cast<NameId>(texts.size()));
    if (is_new) texts.push_back(text);
    return name->second;
  }

  void read_strings(Shard& shard) {
    Statement rows(shard.source.database(),
                   "SELECT string_id, value FROM main.string WHERE string_id > ? ORDER BY string_id");
    rows.bind_all(shard.last_string);
    while (rows.step()) {
      shard.last_string = rows.integer(0, 0, std::numeric_limits<NameId>::max());
      shard.names[static_cast<NameId>(shard.last_string)] = number(rows.text(1));
    }
  }

  static NameId name_in(const Shard& shard, NameId id) {
    const auto found = shard.names.find(id);
    return found != shard.names.end() ? found->second : 0;
  }

  std::int64_t add(Shard& shard, const CopiedChunk& chunk) {
    const auto found = shard.tracks.find(chunk.track);
    if (found == shard.tracks.end() || chunk.header.kind == RecordKind::kCounter) return 0;
    RawTrack& track = found->second;
    std::vector<SpanEvent> spans;
    std::vector<CollectiveEvent> collectives;
    if (chunk.header.kind == RecordKind::kCollective)
      decode_collectives(chunk.header, chunk.data, collectives);
    else
      decode_spans(chunk.header, chunk.data, spans);
    for (SpanEvent& event : spans) {
      event.name = name_in(shard, event.name);
      track.spans.push_back(event);
      track.span_kinds.push_back(chunk.header.kind);
      track.shown.span_runs.push_back(chunk.run);
    }
    for (CollectiveEvent& event : collectives) {
      event.span.name = name_in(shard, event.span.name);
      track.collectives.push_back(event);
      track.shown.collective_runs.push_back(chunk.run);
    }
    std::vector<ChunkPlace>& first = shard.source.tracks[shard.source.place_of_track.at(chunk.track)].chunks;
    if (first.empty()) first.push_back({.chunk_id = chunk.chunk_id, .header = chunk.header});
    first.front().header.begin_min_ns = std::min(first.front().header.begin_min_ns, chunk.header.begin_min_ns);
    return chunk.header.count;
  }

  // What was committed since the last time. A chunk that is damaged is passed over.
  void read(Shard& shard) {
    for (;;) {
      const CopiedChunks copied = copy_chunks(shard.source.database(), shard.last_chunk);
      if (copied.last == shard.last_chunk) return;
      // Committed with the chunks or before them.
      read_tracks(shard);
      read_strings(shard);
      for (const CopiedChunk& chunk : copied.chunks)
        static_cast<void>(failure_of([&] { shard.events += add(shard, chunk); }));
      shard.last_chunk = copied.last;
      let_go_of_old();
    }
  }

  void let_go_of_old() {
    std::int64_t held = 0, num_tracks = 0;
    for (const Shard& shard : shards)
      for (const auto& [id, track] : shard.tracks) {
        held += std::ssize(track.spans) + std::ssize(track.collectives);
        ++num_tracks;
      }
    if (held <= most_held) return;
    set_clocks();  // older events are on the run clock
    for (Shard& shard : shards)
      for (auto& [id, track] : shard.tracks) track.let_go_of_old(most_held / num_tracks);
  }

  // The clock of a shard is known better than that of its older events.
  void read_again(Shard& shard) {
    shard.again = false;
    shard.last_chunk = shard.events = 0;
    for (auto& [id, track] : shard.tracks) {
      track.restart(track.fit);
      track.spans.clear();
      track.span_kinds.clear();
      track.collectives.clear();
      track.shown.span_runs.clear();
      track.shown.collective_runs.clear();
    }
    static_cast<void>(failure_of([&] { read(shard); }));
  }

  void open(const std::string& path) {
    Result<OpenedStore> opened = capture([&] { return open_shard(path, EventTables::kNo); });
    if (!opened) return;  // one that is being made: the next time
    Shard shard;
    shard.source.path = path;
    shard.source.shard = opened->shard;
    shard.source.db = std::make_unique<SourceDatabase>(std::move(opened->db));
    shards.push_back(std::move(shard));
    std::stable_sort(shards.begin(), shards.end(), [](const Shard& a, const Shard& b) {
      const auto key = [](const Shard& s) {
        return std::tuple(!s.source.is_head(), s.source.shard.rank, s.source.path);
      };
      return key(a) < key(b);
    });
  }

  // The clocks as a merge of these shards would find them.
  void set_clocks() {
    std::vector<MergeSource> sources;  // contiguous, as a merge has them
    for (Shard& shard : shards) sources.push_back(std::move(shard.source));
    Damage damage;
    damage.tolerant = true;
    struct Line {
      Shard* shard = nullptr;
      RawTrack* track = nullptr;
      std::optional<ClockFit> fit;
    };
    std::vector<Line> lines;
    const std::optional<Error> unread = failure_of([&] {
      const MergeClocks clocks(sources, damage);
      for (std::size_t i = 0; i < shards.size(); ++i)
        for (auto& [id, track] : shards[i].tracks) {
          const ClockFit* const fit = clocks.fit(sources[i], track.shown.track);
          lines.push_back({&shards[i], &track, fit != nullptr ? std::optional(*fit) : std::nullopt});
        }
    });
    for (std::size_t i = 0; i < shards.size(); ++i) shards[i].source = std::move(sources[i]);
    if (unread) return;
    bool changed = false;
    for (auto& [shard, track, fit] : lines) {
      if (same_line(track->fit, fit)) continue;
      changed |= track->shown.num_events() > 0;
      shard->again |= track->shown.older_events > 0;
      track->restart(fit);
    }
    clock_changes += changed;
  }

  void list_tracks() {
    tracks.clear();
    recorded_until_ns = 0;
    for (Shard& shard : shards)
      for (auto& [id, track] : shard.tracks) {
        if (track.shown.track.kind == TrackKind::kCounter) continue;
        track.show();
        recorded_until_ns = std::max(recorded_until_ns, track.shown.last_ns);
        tracks.push_back(&track.shown);
      }
    std::stable_sort(tracks.begin(), tracks.end(), [](const LiveTrack* a, const LiveTrack* b) {
      const auto key = [](const Track& t) { return std::tuple(!t.rank, t.rank, t.kind, t.lane, t.slot); };
      return key(a->track) < key(b->track);
    });
  }

  std::vector<Shard> shards;
  std::vector<const LiveTrack*> tracks;
  std::vector<std::string> texts = {""};
  std::unordered_map<std::string, NameId> numbers = {{"", 0}};
  std::int64_t recorded_until_ns = 0, most_held = kMostHeld;
  int clock_changes = 0;
};

LiveEvents::LiveEvents(std::int64_t most_held) : state_(std::make_unique<State>()) { state_->most_held = most_held; }
LiveEvents::~LiveEvents() = default;
LiveEvents::LiveEvents(LiveEvents&&) noexcept = default;
LiveEvents& LiveEvents::operator=(LiveEvents&&) noexcept = default;

std::int64_t LiveEvents::poll(std::span<const std::string> shards) {
  for (const std::string& path : shards)
    if (std::ranges::none_of(state_->shards, [&](const Shard& shard) { return shard.source.path == path; }))
      state_->open(path);
  const auto all = [&] {
    std::int64_t events = 0;
    for (const Shard& shard : state_->shards) events += shard.events;
    return events;
  };
  const std::int64_t before = all();
  for (Shard& shard : state_->shards) static_cast<void>(failure_of([&] { state_->read(shard); }));
  state_->set_clocks();
  for (Shard& shard : state_->shards)
    if (shard.again) state_->read_again(shard);
  state_->list_tracks();
  return all() - before;
}

const std::vector<const LiveTrack*>& LiveEvents::tracks() const { return state_->tracks; }
const std::string& LiveEvents::name(NameId id) const { return state_->texts[id < state_->texts.size() ? id : 0]; }
int LiveEvents::clock_changes() const { return state_->clock_changes; }
std::int64_t LiveEvents::recorded_until_ns() const { return state_->recorded_until_ns; }

}  // namespace spscope
