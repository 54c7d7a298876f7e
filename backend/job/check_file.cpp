#include "backend/job/check_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

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
void add_collectors(std::vector<Finding>& findings, const StoreReader& reader) {
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

// Whether the pages of the file are those that were written, each that is not with the table it belongs to.
void add_pages(FileFindings& found, const std::string& path) {
  constexpr std::size_t kMostNamed = 100;
  std::vector<Finding>& findings = found.list;
  const CheckedPages checked = check_pages(path);
  found.unchecked = why_unchecked(checked.state);
  found.bad_page_checksums = checked.state == PageChecksums::State::kDamaged;
  if (!found.unchecked.empty()) {
    findings.push_back({"pages", "not checked: " + found.unchecked, false});
    return;
  }
  findings.push_back({"pages",
                      checked.bad.empty()
                          ? fmt::format("{}, each as it was written", checked.pages)
                          : fmt::format("{} of {} are not as they were written", checked.bad.size(), checked.pages),
                      checked.bad.empty()});
  for (std::size_t i = 0; i < std::min(checked.bad.size(), kMostNamed); ++i)
    findings.push_back({fmt::format("page {}", checked.bad[i].number),
                        checked.bad[i].owner.empty() ? "damaged" : "damaged, of " + checked.bad[i].owner, false});
  if (checked.bad.size() > kMostNamed)
    findings.push_back({"", fmt::format("and {} more pages", checked.bad.size() - kMostNamed), false});
  found.bad_pages = std::ssize(checked.bad);
}

// Runs the parts of a check. Of a file with damaged pages, a part that cannot be read is a finding, and the others
// are still run.
class Parts {
 public:
  Parts(std::vector<Finding>& findings, bool damaged) : findings_(&findings), damaged_(damaged) {}
  void run(std::string_view name, const std::function<void()>& part) const {
    if (!damaged_) return part();
    const std::optional<Error> failure = failure_of(part);
    if (!failure) return;
    require_damage(*failure);
    findings_->push_back({std::string(name), failure->what(), false});
  }

 private:
  std::vector<Finding>* findings_;
  bool damaged_;
};

// Layer passes with their plans, timelines and figures.
class Passes {
 public:
  // `tolerant`: damage was found before, and passes that need what is damaged are counted.
  Passes(const StoreReader& reader, bool tolerant) : reader_(reader), tolerant_(tolerant) {}

  void read(const StrategyRecord& strategy, const RunRecord& run) {
    ++runs_;
    unfinished_ += !run.finished;
    std::optional<Plan> plan;
    attempt([&] {
      if (run.plan_id) plan = reader_.plan(*run.plan_id);
      plans_ += plan && !plan->ops.empty();
    });
    const bool figures = attempt([&] {
      if (!run.finished) return;
      add(strategy, run, reader_.disagreements(run.run_id));
      if (plan) add(strategy, run, disagreements(*plan, reader_.usage(run.run_id)));
    });
    const bool repeats = attempt([&] {
      for (const RepeatRecord& repeat : reader_.repeats(run.run_id)) {
        const bool read = attempt([&] { timelines_ += reader_.timeline(run.run_id, repeat.repeat).has_value(); });
        lost_timelines_ += !read;
      }
    });
    if (!figures || !repeats) add(strategy, run, {"its figures cannot be read"});
  }

  void report(std::vector<Finding>& findings) const {
    findings.push_back(
        {"runs",
         fmt::format(
             "{} with {} plans and {} timelines, {}", runs_, plans_, timelines_,
             lost_timelines_ == 0 ? "all readable" : fmt::format("and {} that need what is damaged", lost_timelines_)),
         lost_timelines_ == 0});
    if (unfinished_ > 0)
      findings.push_back({"", fmt::format("{} of them begun and not finished: no figures", unfinished_), false});
    findings.insert(findings.end(), named_.begin(), named_.end());
    if (const std::int64_t hidden = wrong_ - std::ssize(named_); hidden > 0)
      findings.push_back({"", fmt::format("and {} more of layer passes", hidden), false});
  }
  std::int64_t wrong() const { return wrong_; }

 private:
  // Whether it could be read.
  bool attempt(const std::function<void()>& step) const {
    const std::optional<Error> failure = failure_of(step);
    if (!failure) return true;
    if (!tolerant_) throw *failure;
    require_damage(*failure);
    return false;
  }
  void add(const StrategyRecord& strategy, const RunRecord& run, const std::vector<std::string>& faults) {
    constexpr std::size_t kMostNamed = 20;
    for (const std::string& fault : faults) {
      ++wrong_;
      if (named_.size() < kMostNamed)
        named_.push_back(
            {fmt::format("{}, layer {}, step {}", strategy.id, run.layer, run.denoise_step), fault, false});
    }
  }

  const StoreReader& reader_;
  bool tolerant_;
  std::int64_t runs_ = 0, plans_ = 0, timelines_ = 0, unfinished_ = 0, lost_timelines_ = 0, wrong_ = 0;
  std::vector<Finding> named_;
};

void add_content(FileFindings& found, const std::string& path) {
  const bool damaged = found.bad_pages > 0;
  const StoreReader reader(path);
  found.list.push_back({"schema", fmt::format("version {}, written by spscope {}", reader.file().schema_version,
                                              reader.file().tool_version)});
  std::vector<Finding> packed;
  const Parts of_packed(packed, damaged), of_all(found.list, damaged);
  of_packed.run("chunks", [&] { found.bad_chunks = add_checksums(packed, reader.events()); });
  of_packed.run("packed rows", [&] { found.bad_rows = add_rows(packed, reader); });
  of_packed.run("mask recipes", [&] { found.bad_rows += add_recipes(packed, reader); });
  of_all.run("runs", [&] {
    Passes passes(reader, damaged || found.bad_chunks + found.bad_rows > 0);
    for (const StrategyRecord& strategy : reader.strategies())
      for (const RunRecord& run : reader.runs(strategy.strategy_id)) passes.read(strategy, run);
    passes.report(found.list);
    found.disagreements = damaged ? 0 : passes.wrong();
  });
  of_all.run("events", [&] { add_ledger(found.list, reader.events()); });
  of_all.run("figures", [&] {
    for (const Disagreement& differs : reader.disagreements()) {
      found.list.push_back({differs.name, differs.what, false});
      ++found.disagreements;
    }
  });
  found.list.insert(found.list.end(), packed.begin(), packed.end());
  of_all.run("ranks", [&] { add_ranks(found.list, reader); });
  of_all.run("collectors", [&] { add_collectors(found.list, reader); });
}

}  // namespace

FileFindings check_file(const std::string& path) {
  FileFindings found;
  found.list.push_back({"file", path});
  add_pages(found, path);
  Parts(found.list, found.bad_pages > 0 || found.bad_page_checksums).run("content", [&] { add_content(found, path); });
  return found;
}

}  // namespace spscope
