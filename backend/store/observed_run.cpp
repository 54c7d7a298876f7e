#include "backend/store/observed_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "backend/base/bytes.h"
#include "backend/base/utf8.h"
#include "backend/store/sqlite/sqlite.h"
#include "backend/store/store_reader.h"
#include "backend/store/store_writer.h"

namespace spscope {

namespace {

// "python3" of "/usr/bin/python3 train.py --steps 9".
std::string program_name(const std::string& command) {
  const std::string path = command.substr(0, command.find(' '));
  return path.substr(path.find_last_of('/') + 1);
}

// What was measured: all of it.
RunRecord record_of(StrategyId strategy) {
  RunRecord record;
  record.strategy_id = strategy;
  record.provenance = {Source::kMeasured, Source::kMeasured, Timing::kClean};
  return record;
}

}  // namespace

void set_collect_windows(StoreWriter& writer, std::vector<CollectWindow> windows) {
  Statement(writer.database(), "INSERT OR REPLACE INTO meta (key, value) VALUES ('collected_ns', ?)")
      .run(stored_windows(std::move(windows)));
}

std::string stored_windows(std::vector<CollectWindow> windows) {
  std::string text;
  for (const CollectWindow& window : joined(std::move(windows), kMostWindows)) {
    text += fmt::format("{}{}-", text.empty() ? "" : " ", window.begin_ns);
    if (window.end_ns != CollectWindow::kOpen) text += std::to_string(window.end_ns);
  }
  return text;
}

std::vector<CollectWindow> windows_in(const std::string& stored) {
  std::vector<CollectWindow> windows;
  const char* at = stored.data();
  const char* const end = at + stored.size();
  while (at != end && windows.size() < kMostWindows) {
    CollectWindow window;
    const auto [dash, no_begin] = std::from_chars(at, end, window.begin_ns);
    if (no_begin != std::errc() || dash == end || *dash != '-') break;
    const auto [rest, no_end] = std::from_chars(dash + 1, end, window.end_ns);
    if (window.end_ns >= window.begin_ns) windows.push_back(window);
    at = std::find(rest, end, ' ');
    if (at != end) ++at;
  }
  return windows;
}

std::string windows_text(std::span<const CollectWindow> windows) {
  constexpr std::size_t kMostNamed = 3;
  constexpr std::int64_t kSecond = 1'000'000'000;
  std::int64_t shortest_ns = kSecond;
  for (const CollectWindow& window : windows) shortest_ns = std::min(shortest_ns, window.end_ns - window.begin_ns);
  const int digits = shortest_ns == kSecond ? 1 : shortest_ns >= kSecond / 100 ? 3 : 6;
  const auto text_of = [&](std::int64_t begin_ns, std::int64_t end_ns) {
    const std::string from = fmt::format("from {:.{}f} s", static_cast<double>(begin_ns) * 1e-9, digits);
    return end_ns == CollectWindow::kOpen
               ? from + " on"
               : fmt::format("{} to {:.{}f} s", from, static_cast<double>(end_ns) * 1e-9, digits);
  };
  if (windows.size() > kMostNamed) {
    double all_ns = 0;
    for (const CollectWindow& window : windows) all_ns += static_cast<double>(window.end_ns - window.begin_ns);
    const std::string text =
        fmt::format("in {} windows {}", windows.size(), text_of(windows.front().begin_ns, windows.back().end_ns));
    return windows.back().end_ns == CollectWindow::kOpen
               ? text
               : fmt::format("{}, {:.{}f} s in all", text, all_ns * 1e-9, digits);
  }
  std::string text;
  for (std::size_t i = 0; i < windows.size(); ++i)
    text += (i == 0 ? "" : i + 1 == windows.size() ? " and " : ", ") + text_of(windows[i].begin_ns, windows[i].end_ns);
  return text;
}

std::string ObservedRun::short_command() const {
  constexpr std::size_t kMost = 200;
  const std::string_view first = first_characters(command, kMost);
  return std::string(first) + (first.size() < command.size() ? "…" : "");
}

RunId begin_observed_run(StoreWriter& writer, const std::string& command) {
  const std::string text = clean_text(command).text;
  WorkloadRecord workload;
  workload.config_toml = text;
  const std::span bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  workload.config_hash = fmt::format("{:08x}", crc32c(bytes));
  workload.model = program_name(text);
  workload.scope = "observed";
  StrategyRecord strategy;
  strategy.workload_id = writer.add_workload(workload);
  strategy.id = strategy.name = "observed";
  strategy.label = workload.model;
  strategy.mode = RunMode::kObserved;
  strategy.meshes = {{.ulysses = 0, .ring = 0}};  // not known
  return writer.begin_run(record_of(writer.add_strategy(strategy)));
}

void end_observed_run(StoreWriter& writer, const ObservedRun& ended) {
  Database& db = writer.database();
  Statement(db,
            "UPDATE workload SET ranks = ?2, nodes = ?3 WHERE workload_id = (SELECT workload_id FROM strategy "
            "JOIN run USING (strategy_id) WHERE run_id = ?1)")
      .run(ended.run, ended.ranks, ended.nodes);
  writer.finish_run(ended.run, record_of({}));
  writer.add_repeat(ended.run, {.begin_ns = ended.begin_ns, .makespan_ns = ended.end_ns - ended.begin_ns});
}

std::vector<ObservedRun> observed_runs(const StoreReader& reader) {
  std::vector<ObservedRun> observed;
  const std::vector<StrategyRecord> strategies = reader.strategies();
  for (const WorkloadRecord& workload : reader.workloads())
    for (const StrategyRecord& strategy : strategies) {
      if (strategy.workload_id != workload.workload_id || strategy.mode != RunMode::kObserved) continue;
      for (const RunRecord& run : reader.runs(strategy.strategy_id)) {
        const std::vector<RepeatRecord> repeats = reader.repeats(run.run_id);
        ObservedRun& o = observed.emplace_back(
            ObservedRun{run.run_id, workload.config_toml, workload.ranks, workload.nodes, run.finished});
        const QueryResult windows = reader.query("SELECT value FROM main.meta WHERE key = 'collected_ns'");
        if (!windows.rows.empty()) o.windows = windows_in(windows.rows[0][0].value_or(""));
        if (repeats.empty()) continue;
        o.begin_ns = repeats.front().begin_ns;
        o.end_ns = o.begin_ns + repeats.front().makespan_ns;
      }
    }
  return observed;
}

}  // namespace spscope
