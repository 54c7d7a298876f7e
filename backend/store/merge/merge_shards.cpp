#include "backend/store/merge/merge_shards.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <tuple>
#include <unordered_map>

#include "backend/store/merge/merge_damage.h"
#include "backend/store/merge/merge_events.h"
#include "backend/store/merge/merge_ledger.h"
#include "backend/store/merge/merge_tables.h"
#include "backend/store/merge/merge_unfinished.h"
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

Renumbered renumber(const MergeSource& source, Names& names, Communicators& communicators) {
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
  return numbers;
}

std::vector<MergedStream> streams_of(std::span<const MergeSource> sources) {
  std::vector<MergedStream> streams;
  for (const MergeSource& source : sources)
    for (const SourceStream& from : source.streams)
      streams.push_back({.source = &source, .from = &from, .stream = from.stream, .fit = nullptr, .unfinished = {}});
  return streams;
}

auto key_of(const MergedStream& stream) {
  return std::tuple(stream.stream.rank, stream.stream.lane, stream.stream.slot);
}

// Gives the streams their order, their clocks and their numbers.
void number_streams(Database& out, std::vector<MergedStream>& streams, const MergeClocks& clocks, Damage& damage) {
  std::stable_sort(streams.begin(), streams.end(), [](const auto& a, const auto& b) { return key_of(a) < key_of(b); });
  for (std::size_t i = 1; i < streams.size(); ++i)
    if (key_of(streams[i - 1]) == key_of(streams[i]))
      damage.meet(Error(ErrorCode::kStoreForeign,
                        fmt::format("\"{}\" and \"{}\" both have rank {} lane {}", streams[i - 1].source->path,
                                    streams[i].source->path, streams[i].stream.rank, streams[i].stream.lane),
                        "give each shard of a run once"),
                  "the second is left out");
  const auto same = [](const auto& a, const auto& b) { return key_of(a) == key_of(b); };
  streams.erase(std::unique(streams.begin(), streams.end(), same), streams.end());
  Statement insert(out, "INSERT INTO stream (stream_id, rank, lane, slot, overlapping) VALUES (?, ?, ?, ?, ?)");
  std::int64_t next = 1;
  for (MergedStream& merged : streams) {
    merged.stream.stream_id = StreamId{next++};
    merged.fit = clocks.fit(*merged.source, merged.stream.rank);
    const Stream& s = merged.stream;
    insert.run(s.stream_id, s.rank, s.lane, s.slot, s.overlapping);
  }
}

// The last moment that any event knows of.
std::int64_t recorded_until(std::span<const MergedStream> streams) {
  std::int64_t until_ns = 0;
  const auto offer = [&](const MergedStream& stream, std::int64_t time_ns) {
    if (time_ns != kNeverEnded) until_ns = std::max(until_ns, on_run_clock(stream.fit, time_ns));
  };
  for (const MergedStream& stream : streams) {
    if (stream.from != nullptr)
      for (const ChunkPlace& chunk : stream.from->chunks) {
        offer(stream, chunk.header.begin_max_ns);
        offer(stream, chunk.header.end_max_ns);
      }
    for (const UnfinishedOp& op : stream.unfinished) offer(stream, op.span.begin_ns);
  }
  return until_ns;
}

void write_ledger(Database& out, std::span<const LedgerRecord> ledger, MergeReport& report) {
  Statement insert(out,
                   "INSERT INTO ledger (stream_id, sent, stored, dropped, unreadable, lost) VALUES (?, ?, ?, ?, ?, ?)");
  for (const LedgerRecord& row : ledger) {
    insert.run(row.stream_id, row.sent, row.stored, row.dropped, row.unreadable, row.lost);
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
  const MergeClocks clocks(sources, damage);
  merge_tables(out, sources, clocks, damage);
  if (damage.tolerant) make_consistent(out, sources, damage);

  Names names(out);
  Communicators communicators(out);
  MergeEventsInput input;
  for (const MergeSource& source : sources) input.numbers.emplace(&source, renumber(source, names, communicators));
  input.streams = streams_of(sources);
  add_unfinished_ops(out, input.streams, sources, [&](const std::string& text) { return names.number(text); });
  number_streams(out, input.streams, clocks, damage);
  input.recorded_until_ns = recorded_until(input.streams);
  input.interrupt = options.interrupt;
  write_ledger(out, merged_ledger(input.streams), report);
  for (const MergedStream& stream : input.streams) report.unfinished += std::ssize(stream.unfinished);
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
  if (report.shards == 0)
    throw sources.empty() ? Error(ErrorCode::kStoreCorrupt, "there are no shards to read") : *sources.front().fault;
  if (::truncate(out.temporary_path().c_str(), 0) != 0)  // what an earlier attempt left
    throw Error(ErrorCode::kStoreWrite, fmt::format("cannot write \"{}\": {}", out.path(), std::strerror(errno)),
                "choose another folder with -o");
  {
    Database db = Database::create(out.temporary_path(), out.path());
    mark_as_ours(db, 0);
    Transaction transaction(db);
    merge_into(db, sources, options, damage, report);
    transaction.commit();
  }
  out.commit();
  report.notes = std::move(damage.notes);
  return report;
}

}  // namespace spscope
