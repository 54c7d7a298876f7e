#include "backend/analysis/observation.h"

#include <fmt/format.h>

#include <charconv>

namespace spscope {

namespace {

using Value = std::optional<std::string>;

std::int64_t number_of(const Value& value) {
  std::int64_t number = 0;
  if (value) std::from_chars(value->data(), value->data() + value->size(), number);
  return number;
}

std::vector<ObservedWork> work_of(const StoreReader& reader) {
  std::vector<ObservedWork> work;
  const QueryResult found = reader.query(
      "SELECT rank, track_kind, category, sum(count + unfinished), sum(total_ns) FROM event_stats "
      "GROUP BY rank, track_kind, category ORDER BY rank IS NULL, rank, track_kind, 5 DESC, category");
  for (const std::vector<Value>& row : found.rows)
    work.push_back({row[0] ? std::optional(static_cast<int>(number_of(row[0]))) : std::nullopt, row[1].value_or(""),
                    row[2].value_or("other"), number_of(row[3]), number_of(row[4])});
  return work;
}

std::vector<ObservedName> kernels_of(const StoreReader& reader) {
  std::vector<ObservedName> kernels;
  const QueryResult found = reader.query(
      fmt::format("SELECT name, sum(count), sum(total_ns) FROM event_stats WHERE category = 'kernel' GROUP BY name "
                  "ORDER BY 3 DESC, name LIMIT {}",
                  Observation::kMostKernels));
  for (const std::vector<Value>& row : found.rows)
    kernels.push_back({row[0].value_or(""), number_of(row[1]), number_of(row[2])});
  return kernels;
}

}  // namespace

std::vector<Observation> observations(const StoreReader& reader) {
  std::vector<Observation> all;
  for (const ObservedRun& run : observed_runs(reader)) {
    Observation& o = all.emplace_back();
    o.run = run;
    o.file = reader.path();
    o.tool_version = reader.file().tool_version;
    o.created_utc = reader.file().created_utc;
    o.work = work_of(reader);
    o.kernels = kernels_of(reader);
    o.collectors = reader.collectors();
    for (const MachineFact& fact : reader.machine()) o.machine.push_back({fact.name, fact.value});
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
                  observed.front().command, verb),
      fmt::format("spscope report \"{0}\" says what it did, and spscope sql \"{0}\" answers questions about its "
                  "events; files of spscope run have strategies",
                  reader.path()));
}

}  // namespace spscope
