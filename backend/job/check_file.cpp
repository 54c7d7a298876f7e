#include "backend/job/check_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "backend/base/result.h"
#include "backend/job/mask_recipe.h"
#include "backend/store/chunk/stored_chunk.h"
#include "backend/store/sqlite/table_rows.h"
#include "backend/store/store_reader.h"

namespace spscope {
namespace {

// Where events went that are not in the file, track by track as far as there is something to say.
void add_ledger(std::vector<Finding>& findings, const EventReader& events) {
  LedgerRecord sum;
  std::map<TrackId, Track> tracks;
  for (const Track& track : events.tracks()) tracks.emplace(track.track_id, track);
  std::vector<Finding> incomplete;
  for (const LedgerRecord& row : events.ledger()) {
    sum.sent += row.sent;
    sum.stored += row.stored;
    sum.dropped += row.dropped;
    sum.unreadable += row.unreadable;
    sum.lost += row.lost;
    if (row.sent == row.stored) continue;
    const Track& track = tracks[row.track_id];
    const bool balanced = row.sent == row.stored + row.dropped + row.unreadable + row.lost;
    incomplete.push_back(
        {track_text(track),
         fmt::format("{} of {} events stored, {} dropped, {} unreadable, {} lost{}", row.stored, row.sent, row.dropped,
                     row.unreadable, row.lost, balanced ? "" : "; these do not add up"),
         false});
  }
  findings.push_back({"events", fmt::format("{} stored, {} sent and not stored", sum.stored, sum.sent - sum.stored),
                      sum.sent == sum.stored});
  constexpr std::size_t kMostTracks = 20;
  const std::size_t hidden = incomplete.size() - std::min(incomplete.size(), kMostTracks);
  incomplete.resize(incomplete.size() - hidden);
  findings.insert(findings.end(), incomplete.begin(), incomplete.end());
  if (hidden > 0) findings.push_back({"", fmt::format("and {} more tracks", hidden), false});
}

// Reads all events, so that every checksum is compared. How many chunks cannot be read.
std::int64_t add_checksums(std::vector<Finding>& findings, const EventReader& events) {
  constexpr std::int64_t kMostNamed = 5;
  std::int64_t unfinished = 0, read = 0, right = 0, bad = 0;
  std::vector<Finding> named;
  std::vector<SpanEvent> spans;
  std::vector<CollectiveEvent> collectives;
  std::vector<CounterSample> samples;
  const auto count = [&](const SpanEvent& event) {
    unfinished += (event.flags & kEventUnfinished) != 0;
    ++read;
  };
  const auto decode = [&](const StoredChunk& chunk) {
    spans.clear();
    collectives.clear();
    samples.clear();
    if (chunk.header.kind == RecordKind::kSpan) decode_spans(chunk.header, chunk.data, spans);
    if (chunk.header.kind == RecordKind::kCollective) decode_collectives(chunk.header, chunk.data, collectives);
    if (chunk.header.kind == RecordKind::kCounter) decode_counters(chunk.header, chunk.data, samples);
    for (const SpanEvent& event : spans) count(event);
    for (const CollectiveEvent& event : collectives) count(event.span);
    ++right;
  };
  ChunkFilter all;
  all.on_bad = [&](std::int64_t chunk_id, const Error& error) {
    if (++bad <= kMostNamed) named.push_back({fmt::format("chunk {}", chunk_id), error.what(), false});
  };
  events.for_each_chunk(all, decode);
  if (bad > kMostNamed) named.push_back({"", fmt::format("and {} more chunks", bad - kMostNamed), false});
  findings.push_back({"checksums",
                      bad == 0 ? fmt::format("right in all chunks; {} spans read", read)
                               : fmt::format("{} of {} chunks cannot be read; {} spans read", bad, right + bad, read),
                      bad == 0});
  findings.insert(findings.end(), named.begin(), named.end());
  if (unfinished > 0)
    findings.push_back(
        {"unfinished", fmt::format("{} operations had not ended when recording stopped", unfinished), false});
  return bad;
}

// How well the clocks of the ranks fit together: "4 ranks of 2 hosts on the run clock, off by at most 31.2 us; ...".
Finding clock_finding(const std::vector<RankClock>& clocks, const std::vector<RankProcess>& processes) {
  std::int64_t bound_ns = 0, exchanged = 0;
  for (const RankClock& clock : clocks) {
    bound_ns = std::max(bound_ns, clock.fit.bound_ns);
    exchanged += clock.fit.exchanges > 0;
  }
  std::set<std::pair<std::string, std::string>> hosts;
  for (const RankProcess& process : processes) hosts.emplace(process.host, process.boot_id);
  std::string text = fmt::format("{} ranks ", clocks.size());
  if (hosts.size() > 1) text += fmt::format("of {} hosts ", hosts.size());
  if (bound_ns == std::numeric_limits<std::int64_t>::max())
    return {"clocks", text + "on the run clock, some of them never compared with the others", false};
  text += fmt::format("on the run clock, off by at most {:.1f} us; ", static_cast<double>(bound_ns) / 1e3);
  text += exchanged > 0 ? fmt::format("{} by times exchanged with rank 0, whose clock the others read", exchanged)
                        : std::string("all of them read it");
  return {"clocks", text};
}

// How ranks of processes of their own fit together, and what went wrong with them.
void add_ranks(std::vector<Finding>& findings, const StoreReader& reader) {
  std::vector<RankClock> clocks = reader.rank_clocks();
  std::erase_if(clocks, [](const RankClock& clock) { return clock.rank == kNoRank; });
  if (!clocks.empty()) findings.push_back(clock_finding(clocks, reader.rank_processes()));
  for (const RankProcess& process : reader.rank_processes())
    if (!process.state_text.empty())
      findings.push_back({fmt::format("rank {}", process.rank),
                          fmt::format("process {} on {}: {}", process.pid, process.host, process.state_text), false});
  for (const IncidentRecord& incident : reader.incidents())
    findings.push_back(
        {fmt::format("incident, {}", incident_kind_name(incident.kind)),
         incident.rank < 0 ? incident.message : fmt::format("rank {}: {}", incident.rank, incident.message), false});
}

// Plans, masks with their thumbnails, and pyramids: names each damaged row by its key. Returns how many there are.
std::int64_t add_rows(std::vector<Finding>& findings, const StoreReader& reader) {
  constexpr std::int64_t kMostNamed = 100;
  std::int64_t bad = 0;
  std::vector<std::string> counts;
  std::vector<Finding> named;
  for (const std::string_view table : checked_tables()) {
    const std::int64_t rows = reader.check_rows(table, [&](const BadRow& row) {
      if (++bad <= kMostNamed) named.push_back({row.name, row.error.what(), false});
    });
    counts.push_back(fmt::format("{} {}", rows, table));
  }
  if (bad > kMostNamed) named.push_back({"", fmt::format("and {} more rows", bad - kMostNamed), false});
  findings.push_back({"packed rows",
                      fmt::format("{}, {}", fmt::join(counts, ", "),
                                  bad == 0 ? "all of them whole" : fmt::format("{} of them damaged", bad)),
                      bad == 0});
  findings.insert(findings.end(), named.begin(), named.end());
  return bad;
}

// Masks whose recipe is stored are made again: whether each has the hash that it was stored under. How many have not.
std::int64_t add_recipes(std::vector<Finding>& findings, const StoreReader& reader) {
  constexpr std::int64_t kMostNamed = 5;
  std::set<StoredMaskId> masks;
  for (const WorkloadRecord& workload : reader.workloads())
    for (const MaskPlace& place : reader.mask_places(workload.workload_id)) masks.insert(place.mask_id);
  std::int64_t right = 0, wrong = 0;
  std::vector<Finding> named;
  for (const StoredMaskId id : masks) {
    const MaskRecord record = reader.mask_record(id);
    if (record.recipe.empty()) continue;
    const std::optional<Error> failure = failure_of([&] { mask_of_recipe(record); });
    if (failure) require_damage(*failure);
    failure ? ++wrong : ++right;
    if (failure && wrong <= kMostNamed) named.push_back({"mask recipe", failure->what(), false});
  }
  if (right + wrong == 0) return 0;
  findings.push_back({"mask recipes",
                      wrong == 0 ? fmt::format("{}, each gives a mask of the stored hash", right)
                                 : fmt::format("{} of {} give another mask", wrong, right + wrong),
                      wrong == 0});
  findings.insert(findings.end(), named.begin(), named.end());
  return wrong;
}

}  // namespace

CheckedFile check_file(const std::string& path) {
  const StoreReader reader(path);
  std::vector<Finding> packed;
  const std::int64_t bad_chunks = add_checksums(packed, reader.events()),
                     bad_rows = add_rows(packed, reader) + add_recipes(packed, reader);
  const auto require_tolerated = [&](const Error& error) {
    if (bad_chunks + bad_rows == 0) throw error;
    require_damage(error);
  };
  std::int64_t plans = 0, timelines = 0, runs = 0, unfinished_runs = 0, lost_timelines = 0;
  for (const StrategyRecord& strategy : reader.strategies())
    for (const RunRecord& run : reader.runs(strategy.strategy_id)) {
      ++runs;
      unfinished_runs += !run.finished;
      if (run.plan_id) {
        const auto plan = capture([&] { return reader.plan(*run.plan_id).ops.empty(); });
        if (!plan) require_tolerated(plan.error());
        plans += plan && !*plan;
      }
      for (const RepeatRecord& repeat : reader.repeats(run.run_id)) {
        auto timeline = capture([&] { return reader.timeline(run.run_id, repeat.repeat); });
        if (!timeline) require_tolerated(timeline.error());
        timelines += timeline && timeline->has_value();
        lost_timelines += !timeline;
      }
    }
  std::vector<Finding> findings = {
      {"file", path},
      {"schema",
       fmt::format("version {}, written by spscope {}", reader.file().schema_version, reader.file().tool_version)},
      {"runs",
       fmt::format(
           "{} with {} plans and {} timelines, {}", runs, plans, timelines,
           lost_timelines == 0 ? "all readable" : fmt::format("and {} that need what is damaged", lost_timelines)),
       lost_timelines == 0}};
  if (unfinished_runs > 0)
    findings.push_back({"", fmt::format("{} of them begun and not finished: no figures", unfinished_runs), false});
  add_ledger(findings, reader.events());
  findings.insert(findings.end(), packed.begin(), packed.end());
  add_ranks(findings, reader);
  return {std::move(findings), bad_chunks, bad_rows};
}

}  // namespace spscope
