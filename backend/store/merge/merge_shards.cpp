#include "backend/store/merge/merge_shards.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <unordered_map>

#include "backend/base/result.h"
#include "backend/store/chunk/chunk_row.h"
#include "backend/store/chunk/work_detail_row.h"
#include "backend/store/merge/keep_range.h"
#include "backend/store/merge/merge_damage.h"
#include "backend/store/merge/merge_events.h"
#include "backend/store/merge/merge_ranks.h"
#include "backend/store/merge/merge_tables.h"
#include "backend/store/new_store.h"

namespace spscope {

namespace {

constexpr std::size_t kMaxDamageNotes = 100;

// The names of the output, each once.
class Names {
 public:
  explicit Names(Database& out) : insert_(out, "INSERT INTO string (string_id, value) VALUES (?, ?)") { number(""); }
  NameId number(const std::string& text) {
    const auto [it, is_new] = numbers_.try_emplace(text, static_cast<NameId>(numbers_.size()));
    if (is_new) insert_.run(it->second, text);
    return it->second;
  }

 private:
  Statement insert_;
  std::unordered_map<std::string, NameId> numbers_;
};

class Communicators {
 public:
  explicit Communicators(Database& out)
      : insert_(out, "INSERT INTO communicator (communicator_id, lane, ranks) VALUES (?, ?, ?)") {}
  CommunicatorId number(int lane, const std::string& ranks) {
    const auto [it, is_new] = numbers_.try_emplace({lane, ranks}, static_cast<CommunicatorId>(numbers_.size() + 1));
    if (is_new) insert_.run(it->second, lane, ranks);
    return it->second;
  }

 private:
  Statement insert_;
  std::map<std::pair<int, std::string>, CommunicatorId> numbers_;
};

class Details {
 public:
  explicit Details(Database& out) : insert_(out, kInsertWorkDetail) {}
  WorkDetailId number(const WorkDetail& what) {
    const auto [it, is_new] = numbers_.try_emplace(what, static_cast<WorkDetailId>(numbers_.size() + 1));
    if (is_new) insert_work_detail(insert_, it->second, what);
    return it->second;
  }

 private:
  Statement insert_;
  std::map<WorkDetail, WorkDetailId> numbers_;
};

Renumbered renumber(const MergeSource& source, Names& names, Communicators& communicators, Details& details) {
  // Keys count from 0; one far beyond the number of names is damage, and means no name.
  const std::size_t limit = 16 * source.strings.size() + 4096;
  Renumbered numbers;
  for (const auto& [id, text] : source.strings) {
    const auto at = static_cast<std::size_t>(id);
    if (at >= limit) continue;
    if (numbers.names.size() <= at) numbers.names.resize(at + 1);
    numbers.names[at] = names.number(text);
  }
  for (const SourceCommunicator& communicator : source.communicators)
    numbers.communicators.emplace(communicator.id, communicators.number(communicator.lane, communicator.ranks));
  for (const auto& [id, what] : source.details) numbers.details.emplace(id, details.number(what));
  return numbers;
}

std::vector<MergedTrack> tracks_of(std::span<const MergeSource> sources) {
  std::vector<MergedTrack> tracks;
  for (const MergeSource& source : sources)
    for (const SourceTrack& from : source.tracks)
      tracks.push_back({.source = &source, .from = &from, .track = from.track, .fit = nullptr, .unfinished = {}});
  return tracks;
}

// Ranks in order, of each its lanes first, then what has none; what is equal shard by shard.
auto order_of(const MergedTrack& track) {
  const Track& t = track.track;
  return std::tuple(!t.rank, t.rank, t.kind, t.lane, t.slot);
}

// Gives the tracks their order, their clocks and their numbers.
void number_tracks(Database& out, std::vector<MergedTrack>& tracks, const MergeClocks& clocks, Damage& damage) {
  std::stable_sort(tracks.begin(), tracks.end(),
                   [](const auto& a, const auto& b) { return order_of(a) < order_of(b); });
  const auto same_lane = [](const MergedTrack& a, const MergedTrack& b) {
    return a.track.kind == TrackKind::kRankLane && b.track.kind == TrackKind::kRankLane && order_of(a) == order_of(b);
  };
  for (std::size_t i = 1; i < tracks.size(); ++i)
    if (same_lane(tracks[i - 1], tracks[i]))
      damage.meet(Error(ErrorCode::kStoreForeign,
                        fmt::format("\"{}\" and \"{}\" both have {}", tracks[i - 1].source->path,
                                    tracks[i].source->path, track_text(tracks[i].track)),
                        "give each shard of a run once"),
                  "the second is left out");
  tracks.erase(std::unique(tracks.begin(), tracks.end(), same_lane), tracks.end());
  Statement insert(out, kInsertTrack);
  std::int64_t next = 1;
  for (MergedTrack& merged : tracks) {
    merged.track.track_id = TrackId{next++};
    merged.fit = clocks.fit(*merged.source, merged.track);
    insert_track(insert, merged.track);
  }
}

// The last end of a chunk's events that ended; of a chunk that cannot be read, which is found when its events are, that
// of its header.
std::int64_t last_end_ns(const MergeSource& source, const ChunkPlace& chunk) {
  if (chunk.header.end_max_ns != kNeverEnded || chunk.header.kind == RecordKind::kCounter)
    return chunk.header.end_max_ns;
  std::vector<SpanEvent> spans;
  Statement& data = source.db->chunk_data();
  const auto decode = [&] {
    if (data.bind_all(chunk.chunk_id).step()) decode_spans(chunk.stored(), data.blob(0), spans);
  };
  if (const std::optional<Error> bad = failure_of(decode)) require_damage(*bad);
  data.reset();
  std::int64_t last_ns = std::numeric_limits<std::int64_t>::min();
  if (chunk.cut) erase_outside(spans, chunk.cut->range);
  for (const SpanEvent& span : spans)
    if (span.end_ns != kNeverEnded) last_ns = std::max(last_ns, span.end_ns);
  return spans.empty() ? kNeverEnded : std::max(last_ns, chunk.header.begin_max_ns);
}

// The last moment that any event knows of.
std::int64_t recorded_until(std::span<const MergedTrack> tracks) {
  std::int64_t until_ns = 0;
  const auto offer = [&](const MergedTrack& track, std::int64_t time_ns) {
    if (time_ns != kNeverEnded) until_ns = std::max(until_ns, on_run_clock(track.fit, time_ns));
  };
  for (const MergedTrack& track : tracks) {
    if (track.from != nullptr)
      for (const ChunkPlace& chunk : track.from->chunks) {
        offer(track, chunk.header.begin_max_ns);
        offer(track, last_end_ns(*track.source, chunk));
      }
    for (const UnfinishedOp& op : track.unfinished) offer(track, op.span.begin_ns);
  }
  return until_ns;
}

void write_ledger(Database& out, std::span<const LedgerRecord> ledger, MergeReport& report) {
  Statement insert(out,
                   "INSERT INTO ledger (track_id, sent, stored, dropped, unreadable, lost) VALUES (?, ?, ?, ?, ?, ?)");
  for (const LedgerRecord& row : ledger) {
    insert.run(row.track_id, row.sent, row.stored, row.dropped, row.unreadable, row.lost);
    report.events += row.stored;
    report.dropped += row.dropped;
    report.unreadable += row.unreadable;
    report.lost += row.lost;
  }
}

void write_notes(Database& out, std::span<const MergeSource> sources, const Damage& damage, std::int64_t clamped) {
  std::int64_t repaired = 0, cut = 0;
  for (const MergeSource& source : sources) {
    repaired += source.strings_repaired;
    cut += source.strings_cut;
  }
  Statement note(out, "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)");
  note.run("strings_repaired", std::to_string(repaired));
  note.run("strings_cut", std::to_string(cut));
  note.run("events_clamped", std::to_string(clamped));
  Statement incident(out,
                     "INSERT INTO incident (rank, lane, op_id, run_id, kind, message) VALUES (-1, -1, -1, NULL, ?, ?)");
  const std::size_t shown = std::min(damage.notes.size(), kMaxDamageNotes);
  for (std::size_t i = 0; i < shown; ++i) incident.run(IncidentKind::kLost, damage.notes[i]);
  if (shown < damage.notes.size())
    incident.run(IncidentKind::kLost, fmt::format("and {} more of the kind", damage.notes.size() - shown));
}

void write_incidents(Database& out, std::span<const IncidentRecord> incidents) {
  Statement insert(out, "INSERT INTO incident (rank, lane, op_id, run_id, kind, message) VALUES (?, ?, ?, ?, ?, ?)");
  for (const IncidentRecord& i : incidents) insert.run(i.rank, i.lane, i.op_id, i.run_id, i.kind, i.message);
}

void merge_into(Database& out, std::vector<MergeSource>& sources, const MergeOptions& options, Damage& damage,
                MergeReport& report) {
  create_tables(out, options.tool_version);
  if (damage.tolerant)
    for (MergeSource& source : sources) check_chunks(source, damage);
  write_incidents(out, options.incidents);
  if (options.range) keep_range(sources, *options.range);
  report.ranks = give_ranks(sources);
  const MergeClocks clocks(sources, damage);
  merge_tables(out, sources, clocks, damage);
  write_ranks(out, sources, report.ranks);
  write_windows(out, sources, clocks);
  if (damage.tolerant) make_consistent(out, sources, damage);
  if (options.range) mark_range(out, *options.range);

  Names names(out);
  Communicators communicators(out);
  Details details(out);
  MergeEventsInput input;
  for (const MergeSource& source : sources)
    input.numbers.emplace(&source, renumber(source, names, communicators, details));
  input.tracks = tracks_of(sources);
  add_unfinished_ops(out, input.tracks, sources, [&](const std::string& text) { return names.number(text); });
  number_tracks(out, input.tracks, clocks, damage);
  input.recorded_until_ns = recorded_until(input.tracks);
  input.interrupt = options.interrupt;
  write_ledger(out, merged_ledger(input.tracks), report);
  for (const MergedTrack& track : input.tracks) report.unfinished += std::ssize(track.unfinished);
  if (options.on_progress) input.on_progress = [&](std::int64_t done) { options.on_progress(done, report.events); };
  const std::int64_t clamped = merge_events(out, input);
  write_notes(out, sources, damage, clamped);
  Statement finished(out, "SELECT count(*) FROM run WHERE finished");
  if (finished.step()) report.finished_runs = finished.integer(0);
}

}  // namespace

MergeReport merge_shards(OutputFile& out, std::span<const std::string> shards, const MergeOptions& options) {
  Damage damage;
  damage.tolerant = options.tolerant;
  std::vector<MergeSource> sources = open_sources(shards, damage);
  MergeReport report;
  for (const MergeSource& source : sources) report.shards += source.db != nullptr;
  if (report.shards == 0) {
    if (sources.empty()) throw Error(ErrorCode::kStoreCorrupt, "there are no shards to read");
    const Error& fault = *sources.front().fault;
    throw fault.code() != ErrorCode::kStoreCorrupt
        ? fault
        : Error(fault.code(), fault.what(), "copy it again from where it was made, or run again");
  }
  out.clear();  // of what an earlier attempt left
  {
    Database db = Database::create(out.held_path(), out.path());
    mark_as_ours(db, 0);
    Transaction transaction(db);
    merge_into(db, sources, options, damage, report);
    transaction.commit();
    pack_small(db);
  }
  out.commit();
  report.notes = std::move(damage.notes);
  return report;
}

MergedRanks ranks_of_shards(std::span<const std::string> shards) {
  Damage damage;
  damage.tolerant = true;
  std::vector<MergeSource> sources = open_sources(shards, damage);
  return give_ranks(sources);
}

}  // namespace spscope
