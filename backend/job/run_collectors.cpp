#include "backend/job/run_collectors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "backend/base/result.h"
#include "backend/config/run_config.h"

namespace spscope {

RunCollectors::RunCollectors(const std::vector<std::string>& collect, std::string_view device, TraceSink& sink,
                             const CollectedProcess& process, std::span<const CollectorRow> rows) {
  const auto asks = [&](std::string_view name) { return std::ranges::find(collect, name) != collect.end(); };
  if (asks(kAutoCollect)) {
    if (device == "cuda") start_all_that_can(sink, process, rows);
    return;
  }
  for (const CollectorRow& row : rows) {
    if (!asks(row.name)) continue;
    if (device != "cuda")
      throw Error({{ErrorCode::kConfigConflict, "run.collect",
                    fmt::format("the collector {} watches GPUs, and ranks run on device = {}", row.name, device),
                    "use run.device = cuda, or leave run.collect out"}});
    start(row, sink, process);
  }
}

void RunCollectors::start(const CollectorRow& row, TraceSink& sink, const CollectedProcess& process) {
  started_.push_back({&row, row.start(sink, process), {}});
}

void RunCollectors::start_all_that_can(TraceSink& sink, const CollectedProcess& process,
                                       std::span<const CollectorRow> rows) {
  for (const CollectorRow& row : rows) {
    if (!row.in_runs || (!row.in_place_of.empty() && has(row.in_place_of))) continue;
    std::optional<std::string> why = row.cannot_collect();
    if (!why) {
      if (const std::optional<Error> failed = failure_of([&] { start(row, sink, process); })) why = line_of(*failed);
    }
    if (why) left_out_.push_back({std::string(row.name), *why});
  }
}

bool RunCollectors::has(std::string_view name) const {
  return std::ranges::any_of(started_, [&](const Started& one) { return one.row->name == name; });
}

std::vector<std::string> RunCollectors::left_out() const {
  std::vector<std::string> texts;
  for (const LeftOut& one : left_out_) texts.push_back(fmt::format("{} does not collect here: {}", one.name, one.why));
  return texts;
}

std::vector<Collector*> RunCollectors::all() const {
  std::vector<Collector*> all;
  for (const Started& one : started_) all.push_back(one.collector.get());
  return all;
}

void RunCollectors::stop() {
  for (Started& one : started_)
    if (const std::optional<Error> failed = failure_of([&] { one.collector->stop(); })) one.failure = line_of(*failed);
}

std::vector<std::string> RunCollectors::Started::notes() const {
  std::vector<std::string> notes = collector->notes();
  if (!failure.empty()) notes.push_back(failure);
  for (std::string& note : notes) note = fmt::format("{}: {}", row->name, note);
  return notes;
}

std::vector<CollectorRecord> RunCollectors::records(int first_rank) const {
  std::vector<CollectorRecord> records;
  for (const Started& one : started_)
    records.push_back({first_rank,
                       {},
                       std::string(one.row->name),
                       one.collector->cost(),
                       fmt::format("{}", fmt::join(one.notes(), "\n"))});
  for (const LeftOut& one : left_out_)
    records.push_back(
        {first_rank, {}, one.name, {}, fmt::format("{}: {}", one.name, one.why), CollectorOutcome::kNotStarted});
  return records;
}

}  // namespace spscope
