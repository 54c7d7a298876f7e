#include "backend/analysis/observation.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "backend/analysis/field_number.h"

namespace spscope {

namespace {

// What rows of other programs are: those of NCCL's communicators, as long as there are no others.
std::string_view other_rows(const StoreReader& reader) {
  const QueryResult others =
      reader.query(fmt::format("SELECT 1 FROM track WHERE kind = {} AND name NOT GLOB 'NCCL 0x*' LIMIT 1",
                               static_cast<int>(TrackKind::kForeign)));
  return others.rows.empty() ? "NCCL" : "another program";
}

std::vector<ObservedWork> work_of(const StoreReader& reader) {
  std::vector<ObservedWork> work;
  const QueryResult found = reader.query(
      "SELECT rank, track_kind, category, sum(count + unfinished), sum(total_ns) FROM event_stats "
      "GROUP BY rank, track_kind, category ORDER BY rank IS NULL, rank, track_kind, 5 DESC, category");
  for (const std::vector<FieldText>& row : found.rows)
    work.push_back({row[0] ? std::optional(static_cast<int>(number_of(row[0]))) : std::nullopt, row[1].value_or(""),
                    row[2].value_or("other"), number_of(row[3]), number_of(row[4])});
  for (ObservedWork& w : work)
    if (w.track_kind == "foreign") w.track_kind = other_rows(reader);
  return work;
}

// Into `o`: when the first event began and the last one ended, on all tracks. Counters have none.
void add_event_span(const StoreReader& reader, Observation& o) {
  const QueryResult found =
      reader.query("SELECT min(first_begin_ns), max(last_end_ns) FROM event_stats WHERE count > 0");
  if (found.rows.empty() || !found.rows.front()[0]) return;
  o.first_event_ns = number_of(found.rows.front()[0]);
  o.last_event_ns = number_of(found.rows.front()[1]);
}

// A file of a program without ranks says one, as a workload has one at least.
int ranks_of(const StoreReader& reader, const ObservedRun& run) {
  const bool names_rank = !reader.query("SELECT 1 FROM track WHERE rank IS NOT NULL LIMIT 1").rows.empty();
  return run.ranks > 1 || names_rank ? run.ranks : 0;
}

std::vector<ObservedName> kernels_of(const StoreReader& reader) {
  std::vector<ObservedName> kernels;
  const QueryResult found = reader.query(
      fmt::format("SELECT name, sum(count), sum(total_ns) FROM event_stats WHERE category = 'kernel' GROUP BY name "
                  "ORDER BY 3 DESC, name LIMIT {}",
                  Observation::kMostKernels));
  for (const std::vector<FieldText>& row : found.rows)
    kernels.push_back({row[0].value_or(""), number_of(row[1]), number_of(row[2])});
  return kernels;
}

// total() and not sum(), which fails where the numbers of a damaged file do not fit. Where the transfer begins with
// the operation its begin on the device is not known: of one of copy engines only the call is.
std::vector<ObservedOperation> operations_of(const StoreReader& reader) {
  std::vector<ObservedOperation> operations;
  const QueryResult found = reader.query(fmt::format(
      "SELECT e.name, sum(NOT unfinished), sum(unfinished), CAST(total(bytes) AS INTEGER), "
      "CAST(total(CASE WHEN NOT unfinished THEN end_ns - begin_ns END) AS INTEGER), "
      "sum(NOT unfinished AND transfer_begin_ns > begin_ns), "
      "CAST(total(CASE WHEN NOT unfinished THEN transfer_begin_ns - begin_ns END) AS INTEGER), "
      "CAST(total(CASE WHEN NOT unfinished AND transfer_begin_ns > begin_ns THEN end_ns - transfer_begin_ns END) AS "
      "INTEGER) "
      "FROM track t CROSS JOIN event e ON e.track_id = t.track_id "
      "WHERE t.name GLOB 'NCCL 0x*' AND category = 'transfer' GROUP BY e.name ORDER BY total(end_ns - begin_ns) DESC, "
      "e.name LIMIT {}",
      Observation::kMostOperations));
  for (const std::vector<FieldText>& row : found.rows)
    operations.push_back({row[0].value_or(""), number_of(row[1]), number_of(row[2]), number_of(row[3]),
                          number_of(row[4]), number_of(row[5]), number_of(row[6]), number_of(row[7])});
  return operations;
}

// Without its samples, of the track "GPU 0 SM clock (MHz)".
ObservedCounter counter_of(std::string_view track) {
  const std::size_t begin = track.rfind(" (");
  if (begin == std::string_view::npos || !track.ends_with(')')) return {std::string(track)};
  const std::string_view unit = track.substr(begin + 2, track.size() - begin - 3);
  if (unit.find(' ') != std::string_view::npos) return {std::string(track)};  // "(0 or 1)"
  return {std::string(track.substr(0, begin)), std::string(unit)};
}

// The end of the window that a sample is in; `end_ns` where there are no windows.
std::string window_end_sql(std::span<const CollectWindow> windows, std::int64_t end_ns) {
  if (windows.empty()) return std::to_string(end_ns);
  std::string rows;
  for (const CollectWindow& window : windows)
    rows += fmt::format("{}({}, {})", rows.empty() ? "" : ", ", window.begin_ns, std::min(window.end_ns, end_ns));
  return fmt::format(
      "coalesce((SELECT max(column2) FROM (VALUES {}) WHERE time_ns BETWEEN column1 AND column2), time_ns)", rows);
}

// Samples stand at uneven times: one counts for as long as it held, until the next of its track, the last of a window,
// or of all, until `end_ns`.
std::vector<ObservedCounter> counters_of(const StoreReader& reader, std::span<const CollectWindow> windows,
                                         std::int64_t end_ns) {
  std::vector<ObservedCounter> counters;
  const std::string next = "lead(time_ns) OVER (PARTITION BY t.track_id ORDER BY time_ns)";
  const std::string end = fmt::format("max(time_ns, {})", window_end_sql(windows, end_ns));
  const std::string held_until = windows.empty() ? fmt::format("coalesce({}, {})", next, end)
                                                 : fmt::format("min(coalesce({}, {}), {})", next, end, end);
  const QueryResult found = reader.query(fmt::format(
      "WITH sample AS (SELECT t.name, t.track_id, value, {} - time_ns AS held_ns "
      "FROM track t CROSS JOIN counter c ON c.track_id = t.track_id WHERE t.device IS NOT NULL) "
      "SELECT name, min(value), coalesce(total(value * held_ns) / nullif(total(held_ns), 0), avg(value)), max(value) "
      "FROM sample WHERE value IS NOT NULL GROUP BY name ORDER BY min(track_id)",
      held_until));
  for (const std::vector<FieldText>& row : found.rows) {
    ObservedCounter& counter = counters.emplace_back(counter_of(row[0].value_or("")));
    counter.min = number_of<double>(row[1]);
    counter.mean = number_of<double>(row[2]);
    counter.max = number_of<double>(row[3]);
  }
  return counters;
}

// Into `machine`: the GPUs that took part of which it says nothing, with each place on the bus that a process gave it:
// where each sees a GPU of its own, several have the same number.
void add_gpus(const StoreReader& reader, std::vector<MachineLine>& machine) {
  const std::size_t said = machine.size();
  const QueryResult found = reader.query(
      "SELECT DISTINCT id, substr(device, instr(device, ' at ') + 1) FROM TARGET_INFO_GPU LEFT JOIN track "
      "ON device GLOB 'GPU ' || id || ' at *' ORDER BY 1, 2");
  for (const std::vector<FieldText>& row : found.rows) {
    const std::string name = "GPU " + row[0].value_or("");
    if (std::ranges::none_of(std::span(machine).first(said), [&](const auto& line) { return line.name == name; }))
      machine.push_back({name, row[1].value_or("model and place on the bus not recorded")});
  }
}

// How long events were collected between the two.
std::int64_t collected_ns(const ObservedRun& run, std::int64_t begin_ns, std::int64_t end_ns) {
  if (run.windows.empty()) return end_ns - begin_ns;
  std::int64_t sum_ns = 0;
  for (const CollectWindow& window : run.windows)
    sum_ns += std::max<std::int64_t>(0, std::min(end_ns, window.end_ns) - std::max(begin_ns, window.begin_ns));
  return sum_ns;
}

}  // namespace

std::int64_t Observation::watched_ns() const {
  return collected_ns(run, std::max(first_event_ns, skew.from_ns), last_event_ns);
}

double Observation::share_of_time(std::int64_t wait_ns) const {
  return static_cast<double>(wait_ns) / (static_cast<double>(watched_ns()) * (skew.ranks - 1));
}

std::vector<Observation> observations(const StoreReader& reader) {
  std::vector<Observation> all;
  for (const ObservedRun& run : observed_runs(reader)) {
    Observation& o = all.emplace_back();
    o.run = run;
    o.file = reader.path();
    o.tool_version = reader.file().tool_version;
    o.created_utc = reader.file().created_utc;
    o.ranks = ranks_of(reader, run);
    add_event_span(reader, o);
    o.work = work_of(reader);
    o.kernels = kernels_of(reader);
    o.operations = operations_of(reader);
    o.skew = arrival_skew(reader);
    o.counters = counters_of(reader, run.windows, run.finished ? run.end_ns : o.last_event_ns);
    o.collectors = reader.collectors();
    for (const MachineFact& fact : reader.machine()) o.machine.push_back({fact.name, fact.value});
    add_gpus(reader, o.machine);
    o.recording = recording_of(reader);
  }
  return all;
}

void require_strategies(const StoreReader& reader, const std::string& verb) {
  const std::vector<ObservedRun> observed = observed_runs(reader);
  if (observed.empty()) return;
  throw Error(
      ErrorCode::kUsage,
      fmt::format("\"{}\" is of a program that was observed, {}: it has no strategies to {}", reader.path(),
                  observed.front().short_command(), verb),
      fmt::format("spscope report \"{0}\" says what it did, of several such files one after the other, and spscope sql "
                  "\"{0}\" answers questions about its events; only files of spscope run have strategies",
                  reader.path()));
}

}  // namespace spscope
