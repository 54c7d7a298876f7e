#include "backend/job/check_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>

#include "backend/analysis/mask_recipe.h"
#include "backend/base/result.h"
#include "backend/record/collector_texts.h"
#include "backend/store/check_pages.h"
#include "backend/store/chunk/stored_chunk.h"
#include "backend/store/observed_run.h"
#include "backend/store/sqlite/table_rows.h"
#include "backend/store/store_reader.h"

namespace spscope {
namespace {

// What is wrong with things of one kind, of which the first are named.
class NamedFaults {
 public:
  NamedFaults(std::size_t most, std::string kind) : most_(most), kind_(std::move(kind)) {}
  void add(std::string name, std::string value) {
    if (++count_ <= most_) named_.push_back({std::move(name), std::move(value), false});
  }
  std::size_t count() const { return count_; }
  bool none() const { return count_ == 0; }
  // `text`: of all of them.
  void append_to(std::vector<Finding>& findings, std::string name, std::string text) const {
    findings.push_back({std::move(name), std::move(text), none()});
    findings.insert(findings.end(), named_.begin(), named_.end());
    if (count_ > most_) findings.push_back({"", fmt::format("and {} more {}", count_ - most_, kind_), false});
  }

 private:
  const std::size_t most_;
  const std::string kind_;
  std::size_t count_ = 0;
  std::vector<Finding> named_;
};

// Where events went that are not in the file, track by track as far as there is something to say.
void check_ledger(FileFindings& found, const StoreReader& reader) {
  const EventReader& events = reader.events();
  LedgerRecord sum;
  std::map<TrackId, Track> tracks;
  for (const Track& track : events.tracks()) tracks.emplace(track.track_id, track);
  NamedFaults incomplete(20, "tracks");
  for (const LedgerRecord& row : events.ledger()) {
    sum.sent += row.sent;
    sum.stored += row.stored;
    sum.dropped += row.dropped;
    sum.unreadable += row.unreadable;
    sum.lost += row.lost;
    if (row.sent == row.stored) continue;
    const Track& track = tracks[row.track_id];
    const bool balanced = row.sent == row.stored + row.dropped + row.unreadable + row.lost;
    incomplete.add(track_text(track),
                   fmt::format("{} of {} events stored, {} dropped, {} unreadable, {} lost{}", row.stored, row.sent,
                               row.dropped, row.unreadable, row.lost, balanced ? "" : "; these do not add up"));
  }
  incomplete.append_to(found.list, "events",
                       fmt::format("{} stored, {} sent and not stored", sum.stored, sum.sent - sum.stored));
}

// Reads all events, so that every checksum is compared.
void check_chunks(FileFindings& found, const StoreReader& reader) {
  std::int64_t unfinished = 0, read = 0, right = 0;
  NamedFaults bad(5, "chunks");
  std::vector<SpanEvent> spans;
  std::vector<CounterSample> samples;
  const auto count = [&](const SpanEvent& event) {
    unfinished += (event.flags & kEventUnfinished) != 0;
    ++read;
  };
  const auto decode = [&](const StoredChunk& chunk) {
    spans.clear();
    samples.clear();
    if (chunk.header.kind == RecordKind::kCounter)
      decode_counters(chunk.header, chunk.data, samples);
    else
      decode_spans(chunk.header, chunk.data, spans);
    for (const SpanEvent& event : spans) count(event);
    ++right;
  };
  ChunkFilter all;
  all.on_bad = [&](std::int64_t chunk_id, const Error& error) {
    bad.add(fmt::format("chunk {}", chunk_id), error.what());
  };
  reader.events().for_each_chunk(all, decode);
  found.bad_chunks = static_cast<std::int64_t>(bad.count());
  bad.append_to(found.list, "checksums",
                bad.none() ? fmt::format("right in all chunks; {} spans read", read)
                           : fmt::format("{} of {} chunks cannot be read; {} spans read", found.bad_chunks,
                                         right + found.bad_chunks, read));
  if (unfinished > 0)
    found.list.push_back(
        {"unfinished", fmt::format("{} operations had not ended when recording stopped", unfinished), false});
}

// How well the clocks of the ranks fit together: "4 ranks of 2 hosts agree on the time within 31.2 us. ...".
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
    return {"clocks", text + "ran, and the clocks of some were never compared with those of the others", false};
  text += fmt::format("agree on the time within {:.1f} us. ", static_cast<double>(bound_ns) / 1e3);
  text += exchanged > 0 ? fmt::format("{} compared their clocks with rank 0, and the others read its clock", exchanged)
                        : std::string("All of them read one clock");
  return {"clocks", text};
}

// How ranks of processes of their own fit together, and what went wrong with them.
void check_ranks(FileFindings& found, const StoreReader& reader) {
  std::vector<Finding>& findings = found.list;
  std::vector<RankClock> clocks = reader.rank_clocks();
  std::erase_if(clocks, [](const RankClock& clock) { return clock.rank == kNoRank; });
  if (!reader.file().ranks.empty()) findings.push_back({"ranks", reader.file().ranks});
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

// When they collected, where that was not all the time, what collectors took, and what they did not collect.
void check_collectors(FileFindings& found, const StoreReader& reader) {
  std::vector<Finding>& findings = found.list;
  for (const ObservedRun& run : observed_runs(reader))
    if (!run.windows.empty()) findings.push_back({"collected", windows_text(run.windows) + " of the program"});
  struct Texts {
    TextsOfProcesses costs, notes;
  };
  std::map<std::string, Texts> by_name;
  for (const CollectorRecord& record : reader.collectors()) {
    Texts& texts = by_name[record.name];
    texts.costs.add(text_of(record), process_text(record));
    if (record.outcome == CollectorOutcome::kNotStarted) continue;  // its text says why
    for (const std::string& note : notes_of(record)) texts.notes.add(note, process_text(record));
  }
  const auto add = [&](const std::string& name, const TextsOfProcesses& texts) {
    constexpr std::size_t kMostNamed = 40;
    const std::vector<std::string> lines = texts.lines();
    for (const std::string& line : std::span(lines).first(std::min(lines.size(), kMostNamed)))
      findings.push_back({name, line});
    if (lines.size() > kMostNamed) findings.push_back({"", fmt::format("and {} more", lines.size() - kMostNamed)});
  };
  for (const auto& [name, texts] : by_name) {
    add("collector " + name, texts.costs);
    add("", texts.notes);
  }
}

// Whether each mask has the hash that it was stored under; one whose recipe is stored is made again.
void check_masks(FileFindings& found, const StoreReader& reader) {
  std::set<StoredMaskId> masks;
  for (const WorkloadRecord& workload : reader.workloads())
    for (const MaskPlace& place : reader.mask_places(workload.workload_id)) masks.insert(place.mask_id);
  if (masks.empty()) return;
  NamedFaults wrong(5, "masks");
  for (const StoredMaskId id : masks) {
    const std::optional<Error> failure = failure_of([&] {
      const MaskRecord record = reader.mask_record(id);
      if (record.recipe.empty())
        reader.mask_bits(id);
      else
        mask_of_recipe(record);
    });
    if (!failure) continue;
    require_damage(*failure);
    wrong.add("mask", failure->what());
  }
  found.bad_rows += static_cast<std::int64_t>(wrong.count());
  wrong.append_to(found.list, "masks",
                  wrong.none() ? fmt::format("{}, each of its stored hash", masks.size())
                               : fmt::format("{} of {} are not of their stored hash", wrong.count(), masks.size()));
}

// Why pages cannot be compared with their checksums; "": they can.
std::string why_unchecked(PageChecksums::State state) {
  switch (state) {
    case PageChecksums::State::kNone:
      return "another program wrote the file anew, without checksums";
    case PageChecksums::State::kEdited:
      return "another program changed the file after it was written";
    case PageChecksums::State::kDamaged:
      return "their checksums are damaged";
    case PageChecksums::State::kThere:
      break;
  }
  return "";
}

// Whether the pages of the file are those that were written.
void check_pages_of(FileFindings& found, const std::string& path) {
  const CheckedPages checked = check_pages(path);
  found.unchecked = why_unchecked(checked.state);
  found.bad_page_checksums = checked.state == PageChecksums::State::kDamaged;
  if (!found.unchecked.empty()) {
    found.list.push_back({"pages", "not checked: " + found.unchecked, false});
    return;
  }
  NamedFaults bad(100, "pages");
  for (const std::uint32_t page : checked.bad) bad.add(fmt::format("page {}", page), "damaged");
  found.bad_pages = std::ssize(checked.bad);
  bad.append_to(found.list, "pages",
                bad.none() ? fmt::format("{}, each as it was written", checked.pages)
                           : fmt::format("{} of {} are not as they were written", bad.count(), checked.pages));
}

// Layer passes with their plans and timelines.
void check_runs(FileFindings& found, const StoreReader& reader) {
  std::int64_t runs = 0, unfinished = 0, plans = 0, timelines = 0;
  NamedFaults bad(20, "layer passes");
  for (const StrategyRecord& strategy : reader.strategies())
    for (const RunRecord& run : reader.runs(strategy.strategy_id)) {
      ++runs;
      unfinished += !run.finished;
      const std::optional<Error> failure = failure_of([&] {
        plans += run.plan_id && !reader.plan(*run.plan_id).ops.empty();
        for (const RepeatRecord& repeat : reader.repeats(run.run_id))
          timelines += reader.timeline(run.run_id, repeat.repeat).has_value();
      });
      if (!failure) continue;
      require_damage(*failure);
      bad.add(fmt::format("{}, layer {}, step {}", strategy.id, run.layer, run.denoise_step), failure->what());
    }
  found.bad_rows += static_cast<std::int64_t>(bad.count());
  bad.append_to(found.list, "runs",
                fmt::format("{} with {} plans and {} timelines, {}", runs, plans, timelines,
                            bad.none() ? "all readable" : fmt::format("{} of them damaged", bad.count())));
  if (unfinished > 0)
    found.list.push_back({"", fmt::format("{} of them did not finish and have no figures", unfinished), false});
}

struct Check {
  std::string_view name;
  void (*run)(FileFindings& found, const StoreReader& reader);
};
constexpr Check kChecks[] = {{"runs", check_runs},   {"events", check_ledger}, {"chunks", check_chunks},
                             {"masks", check_masks}, {"ranks", check_ranks},   {"collectors", check_collectors}};

// Of a file with damaged pages, a part that cannot be read is a finding, and the others are still read.
void add_part(FileFindings& found, std::string_view name, const std::function<void()>& part) {
  if (found.bad_pages == 0 && !found.bad_page_checksums) return part();
  const std::optional<Error> failure = failure_of(part);
  if (!failure) return;
  require_damage(*failure);
  found.list.push_back({std::string(name), failure->what(), false});
}

void add_content(FileFindings& found, const std::string& path) {
  const StoreReader reader(path);
  found.list.push_back({"schema", fmt::format("version {}, written by spscope {}", reader.file().schema_version,
                                              reader.file().tool_version)});
  for (const Check& check : kChecks) add_part(found, check.name, [&] { check.run(found, reader); });
}

}  // namespace

FileFindings check_file(const std::string& path) {
  FileFindings found;
  found.list.push_back({"file", path});
  check_pages_of(found, path);
  add_part(found, "content", [&] { add_content(found, path); });
  return found;
}

}  // namespace spscope
