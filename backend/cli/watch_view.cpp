#include "backend/cli/watch_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <tuple>

#include "backend/base/clock.h"
#include "backend/base/result.h"

namespace spscope {
namespace {

constexpr double kPatienceSeconds = 5;  // before a rank that stays where it is is looked into
constexpr int kBarCells = 10;
constexpr std::size_t kShownRanks = 64, kShownFindings = 8;

// Like the watchdog: what holds the rank up, else any lane.
bool says_more(const LaneNow& a, const LaneNow& b) {
  const auto key = [](const LaneNow& now) { return std::tuple(!now.inside_op(), waits(now.state), now.sequence); };
  return key(a) < key(b);
}

std::string grouped(std::int64_t number) {
  std::string text = std::to_string(number);
  for (int at = static_cast<int>(text.size()) - 3; at > 0; at -= 3) text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

std::string duration(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.0f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.1f} ms", seconds * 1e3);
  return fmt::format("{:.1f} s", seconds);
}

std::string bar(const LiveCollection::Place& place) {
  const int full = place.ops > 0 ? kBarCells * std::min(place.ops_done, place.ops) / place.ops : 0;
  return "[" + std::string(static_cast<std::size_t>(full), '#') +
         std::string(static_cast<std::size_t>(kBarCells - full), '.') + "]";
}

std::string doing(const WatchedRank& rank) {
  const LaneNow& now = rank.now;
  if (rank.process_state == ' ') return "its process is gone";
  if (rank.process_state == 'T' || rank.process_state == 't') return "stopped by a signal";
  if (!now.inside_op()) return std::string(lane_state_name(now.state));
  std::string text = fmt::format("{} {} op {}", lane_state_name(now.state), rank.op_name, now.op);
  if (now.state == LaneState::kWaitingForPeer && now.peer >= 0) text += fmt::format(" for rank {}", now.peer);
  return text + fmt::format(", {}", duration(rank.seconds));
}

std::vector<WatchedRank> ranks_of(const WatchedProcess& process, std::int64_t now) {
  std::vector<WatchedRank> ranks(static_cast<std::size_t>(process.page.owner.ranks));
  for (const NowPage::Line& line : process.page.lines) {
    WatchedRank& rank = ranks[static_cast<std::size_t>(line.rank - process.page.owner.first_rank)];
    if (line.lane == 0 || says_more(line.now, rank.now)) rank.lane = line.lane, rank.now = line.now;
    rank.rank = line.rank;
    rank.pid = process.page.owner.pid;
    rank.process_state = process.facts ? process.facts->state : ' ';
    rank.sent += line.now.sent;
    rank.dropped += line.now.dropped;
  }
  for (WatchedRank& rank : ranks)
    if (rank.now.inside_op())
      rank.seconds = static_cast<double>(std::max<std::int64_t>(0, now - rank.now.begin_ns)) * 1e-9;
  return ranks;
}

}  // namespace

RunWatch::RunWatch(const CollectingNote& note)
    : live_(note), watchdog_(kPatienceSeconds, [this](const LaneNow& now) { return live_.op_name(now.run, now.op); }) {}

WatchedRun RunWatch::look() {
  WatchedRun seen;
  const CollectingNote& note = live_.note();
  seen.out = note.out;
  seen.folder = note.folder;
  live_.poll();
  std::vector<WatchedProcess> processes;
  for (const std::string& path : note.now_pages()) {
    Result<WatchedProcess> process = capture([&] { return watch_process(path); });
    if (process) processes.push_back(std::move(*process));  // else it went away between two looks
  }
  const std::int64_t now = now_ns();
  for (const WatchedProcess& process : processes)
    for (WatchedRank& rank : ranks_of(process, now)) {
      if (rank.now.inside_op()) {
        rank.op_name = live_.op_name(rank.now.run, rank.now.op);
        rank.place = live_.place(rank.now.run, rank.rank, rank.lane, rank.now.op);
        if (!seen.run) seen.run = live_.run(rank.now.run);
      }
      seen.sent += rank.sent;
      seen.dropped += rank.dropped;
      seen.ranks.push_back(std::move(rank));
    }
  std::ranges::sort(seen.ranks, {}, &WatchedRank::rank);
  seen.findings = watchdog_.look(processes, now);
  seen.runs_begun = live_.runs_begun();
  seen.runs_finished = live_.runs_finished();
  seen.committed = live_.committed_events();
  seen.shards = live_.num_shards();
  if (last_look_ns_ != 0 && now > last_look_ns_)
    seen.events_per_second =
        static_cast<double>(seen.sent - last_sent_) / (static_cast<double>(now - last_look_ns_) * 1e-9);
  last_sent_ = seen.sent, last_look_ns_ = now;
  // The note goes when the run has ended, and OUT.tmp grows while its shards are merged.
  std::error_code ignored;
  const auto bytes = std::filesystem::file_size(note.out + ".tmp", ignored);
  const std::string lasting = note.is_part() ? note.folder : collecting_path(note.out);
  seen.state = !std::filesystem::exists(lasting, ignored)              ? "ended"
               : collector_state(note) == CollectorState::kEnded       ? "died"
               : bytes > 0 && bytes != static_cast<std::uintmax_t>(-1) ? "merging"
                                                                       : "running";
  return seen;
}

std::string render_watch_text(const WatchedRun& run, int columns) {
  std::string text = fmt::format("{}: {}", run.out, run.state);
  if (run.run)
    text += fmt::format(", {}, layer {}, denoise step {}", run.run->label, run.run->layer, run.run->denoise_step);
  text += fmt::format("\n{} layer passes done, {} events ({}/s), {} committed, {} dropped, {} shards\n",
                      grouped(run.runs_finished), grouped(run.sent),
                      grouped(static_cast<std::int64_t>(run.events_per_second)), grouped(run.committed),
                      grouped(run.dropped), run.shards);
  const auto add_line = [&](std::string line) {
    if (static_cast<int>(line.size()) > columns) line.resize(static_cast<std::size_t>(std::max(0, columns)));
    text += line + "\n";
  };
  for (std::size_t i = 0; i < std::min(run.ranks.size(), kShownRanks); ++i) {
    const WatchedRank& rank = run.ranks[i];
    add_line(fmt::format("rank {:4} {} {}", rank.rank, bar(rank.place), doing(rank)));
  }
  if (run.ranks.size() > kShownRanks) add_line(fmt::format("and {} more ranks", run.ranks.size() - kShownRanks));
  for (std::size_t i = 0; i < std::min(run.findings.size(), kShownFindings); ++i)
    add_line((run.findings[i].incident() ? "! " : "  ") + run.findings[i].message);
  return text;
}

std::string render_watch_json(const WatchedRun& run) {
  using Json = nlohmann::ordered_json;
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
                        {"fault", finding.incident().has_value()},
                        {"seconds", finding.seconds},
                        {"message", finding.message}});
  const Json object = {{"schema_version", 1},
                       {"out", run.out},
                       {"folder", run.folder},
                       {"state", run.state},
                       {"strategy", run.run ? Json(run.run->strategy) : Json()},
                       {"layer", run.run ? Json(run.run->layer) : Json()},
                       {"denoise_step", run.run ? Json(run.run->denoise_step) : Json()},
                       {"layer_passes_begun", run.runs_begun},
                       {"layer_passes_done", run.runs_finished},
                       {"events", run.sent},
                       {"events_committed", run.committed},
                       {"events_dropped", run.dropped},
                       {"events_per_s", run.events_per_second},
                       {"shards", run.shards},
                       {"ranks", std::move(ranks)},
                       {"findings", std::move(findings)}};
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace spscope
