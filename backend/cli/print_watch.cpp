#include "backend/cli/print_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "backend/base/json.h"
#include "backend/base/number_text.h"
#include "backend/base/printable.h"

namespace spscope {
namespace {

constexpr int kBarCells = 10, kIndent = 4, kFewestColumns = 24;
constexpr std::size_t kShownRanks = 64, kShownFindings = 8;

std::string bar(const LiveShard::Place& place) {
  const int full = place.ops > 0 ? kBarCells * std::min(place.ops_done, place.ops) / place.ops : 0;
  return "[" + std::string(static_cast<std::size_t>(full), '#') +
         std::string(static_cast<std::size_t>(kBarCells - full), '.') + "]";
}

// "running for 1:12, about 3:40 left"
std::string state_text(const WatchedRun& run) {
  std::string text = run.out + ": " + run.state;
  return !run.progress || run.is_over() ? text : text + " for " + time_text(*run.progress);
}

std::string plans_text(const RunProgress& progress) {
  return fmt::format("{} of {} plans done", count_text(progress.done), count_text(progress.total));
}

std::string events_text(const WatchedRun& run) { return fmt::format("{}, {} shards", run.events_text(), run.shards); }

}  // namespace

std::string render_watch_text(const WatchedRun& run, int columns) {
  std::string text = printable_line(state_text(run)) + "\n";
  // One line on the terminal: what does not fit is cut.
  const auto add_line = [&](std::string line) {
    line = printable_line(line);
    if (static_cast<int>(line.size()) > columns) line.resize(static_cast<std::size_t>(std::max(0, columns)));
    text += line + "\n";
  };
  // As many lines as it takes, later ones indented.
  const auto add_wrapped = [&](const std::string& line) {
    std::istringstream parts(wrapped_text(line, std::max(kFewestColumns, columns - kIndent)));
    std::string indent;
    for (std::string part; std::getline(parts, part); indent.assign(kIndent, ' ')) text += indent + part + "\n";
  };
  if (run.progress && !run.is_over()) add_wrapped(progress_text(*run.progress));
  if (run.state != "ended") {  // an ended run has no pages to count from
    if (run.progress) add_wrapped(plans_text(*run.progress));
    add_wrapped(events_text(run));
  }
  for (std::size_t i = 0; i < std::min(run.ranks.size(), kShownRanks); ++i) {
    const WatchedRank& rank = run.ranks[i];
    add_line(fmt::format("rank {:4} {} {}", rank.rank, bar(rank.place), doing_text(rank)));
  }
  if (run.ranks.size() > kShownRanks) add_line(fmt::format("and {} more ranks", run.ranks.size() - kShownRanks));
  for (std::size_t i = 0; i < std::min(run.findings.size(), kShownFindings); ++i)
    add_wrapped((run.findings[i].fault() ? "! " : "- ") + run.findings[i].message);
  if (run.findings.empty() && run.progress && !run.progress->cause.empty()) add_wrapped("! " + run.progress->cause);
  return text;
}

std::string render_watch_json(const WatchedRun& run) {
  Json ranks = Json::array(), findings = Json::array();
  for (const WatchedRank& rank : run.ranks) {
    const bool inside = rank.now.inside_op();
    Json object = {{"rank", rank.rank},
                   {"pid", rank.pid},
                   {"process_state", rank.process_state == ' ' ? "" : std::string(1, rank.process_state)},
                   {"lane", rank.lane},
                   {"state", lane_state_name(rank.now.state)},
                   {"op", inside ? Json(rank.now.op) : Json()},
                   {"name", rank.op_name},
                   {"sequence", inside ? Json(rank.now.sequence) : Json()},
                   {"peer", inside && rank.now.peer >= 0 ? Json(rank.now.peer) : Json()},
                   {"bytes", rank.now.bytes},
                   {"seconds", rank.seconds},
                   {"ops_done", rank.place.ops_done},
                   {"ops", rank.place.ops},
                   {"sent", rank.sent},
                   {"dropped", rank.dropped}};
    ranks.push_back(std::move(object));
  }
  for (const RankFinding& finding : run.findings)
    findings.push_back({{"rank", finding.rank},
                        {"lane", finding.lane},
                        {"fault", finding.fault()},
                        {"seconds", finding.seconds},
                        {"message", finding.message}});
  const Json object = {{"schema_version", 1},
                       {"out", run.out},
                       {"folder", run.folder},
                       {"state", run.state},
                       {"progress", run.progress ? progress_json(*run.progress) : Json()},
                       {"exit_code", run.progress && run.progress->exit_code ? Json(*run.progress->exit_code) : Json()},
                       {"failure", run.failure()},
                       {"events", run.sent},
                       {"events_committed", run.committed},
                       {"events_dropped", run.dropped},
                       {"events_per_s", run.events_per_second ? Json(*run.events_per_second) : Json()},
                       {"shards", run.shards},
                       {"ranks", std::move(ranks)},
                       {"findings", std::move(findings)}};
  return object.dump();
}

}  // namespace spscope
