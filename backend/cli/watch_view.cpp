#include "backend/cli/watch_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <tuple>

#include "backend/base/clock.h"
#include "backend/base/number_text.h"
#include "backend/base/result.h"

namespace spscope {
namespace {

constexpr double kPatienceSeconds = 5;  // before a rank that stays where it is is looked into
constexpr int kBarCells = 10;
constexpr std::size_t kShownRanks = 64, kShownFindings = 8;

// Like the watchdog: what holds the rank up, else any lane.
bool says_more(const LaneNow& a, const LaneNow& b) {
  const auto key = [](const LaneNow& now) { return std::tuple(!now.inside_op(), waits(now), now.sequence); };
  return key(a) < key(b);
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
    : live_(note),
      progress_(note.progress_page()),
      watchdog_(kPatienceSeconds, [this](const LaneNow& now) { return live_.op_name(now.run, now.op); }) {}

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
      }
      seen.sent += rank.sent;
      seen.dropped += rank.dropped;
      seen.ranks.push_back(std::move(rank));
    }
  std::ranges::sort(seen.ranks, {}, &WatchedRank::rank);
  seen.findings = watchdog_.look(processes, now);
  seen.committed = live_.committed_events();
  seen.shards = live_.num_shards();
  if (last_look_ns_ != 0 && now > last_look_ns_ && seen.sent >= last_sent_)
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
  seen.progress = progress_.read();  // behind the state: whoever ends a run says so before its folder goes
  if (seen.progress) seen.progress = moved_on(*seen.progress, now_ns());
  put_first_cause_first(seen);
  return seen;
}

// When one rank is gone, mpirun ends the others: they are no faults of their own.
void RunWatch::put_first_cause_first(WatchedRun& seen) {
  const auto is_gone = [](const RankFinding& f) {
    return f.trouble == RankTrouble::kKilled || f.trouble == RankTrouble::kLost;
  };
  if (!first_gone_ && !seen.findings.empty() && is_gone(seen.findings.front()))
    first_gone_ = seen.findings.front().rank;
  const bool is_said = seen.progress && seen.progress->cause_rank >= 0;
  if (is_said) first_gone_ = seen.progress->cause_rank;
  if (!first_gone_) return;
  const auto first = std::ranges::find(seen.findings, *first_gone_, &RankFinding::rank);
  if (first == seen.findings.end() || !is_gone(*first)) return;
  if (is_said) first->message = seen.progress->cause;
  const auto process = std::ranges::find(seen.ranks, *first_gone_, &WatchedRank::rank)->pid;
  std::rotate(seen.findings.begin(), first, first + 1);
  for (auto later = seen.findings.begin() + 1; later != seen.findings.end(); ++later) {
    const auto of_rank = std::ranges::find(seen.ranks, later->rank, &WatchedRank::rank);
    if (!is_gone(*later) || of_rank->pid == process) continue;
    later->is_consequence = true;
    later->message += fmt::format(": after rank {}", *first_gone_);
  }
}

std::string WatchedRun::failure() const {
  if (progress && !progress->cause.empty()) return progress->cause;
  for (const RankFinding& f : findings)
    if (f.trouble == RankTrouble::kKilled || f.trouble == RankTrouble::kLost) return f.message;
  return "";
}

namespace {

// "running for 1:12, about 3:40 left"
std::string state_text(const WatchedRun& run) {
  std::string text = run.out + ": " + run.state;
  return !run.progress || run.is_over() ? text : text + " for " + time_text(*run.progress);
}

std::string counts_text(const WatchedRun& run) {
  std::string text;
  if (run.progress)
    text = fmt::format("{} of {} plans done, ", count_text(run.progress->done), count_text(run.progress->total));
  text += fmt::format("{} events", count_text(static_cast<double>(run.sent)));
  if (run.events_per_second) text += fmt::format(" ({}/s)", count_text(*run.events_per_second));
  return text + fmt::format(", {} committed, {} dropped, {} shards", count_text(static_cast<double>(run.committed)),
                            count_text(static_cast<double>(run.dropped)), run.shards);
}

}  // namespace

std::string render_watch_text(const WatchedRun& run, int columns) {
  std::string text = state_text(run) + "\n";
  const auto add_line = [&](std::string line) {
    if (static_cast<int>(line.size()) > columns) line.resize(static_cast<std::size_t>(std::max(0, columns)));
    text += line + "\n";
  };
  if (run.progress && !run.is_over()) add_line(progress_text(*run.progress));
  if (run.state != "ended") add_line(counts_text(run));  // else its pages are gone
  for (std::size_t i = 0; i < std::min(run.ranks.size(), kShownRanks); ++i) {
    const WatchedRank& rank = run.ranks[i];
    add_line(fmt::format("rank {:4} {} {}", rank.rank, bar(rank.place), doing(rank)));
  }
  if (run.ranks.size() > kShownRanks) add_line(fmt::format("and {} more ranks", run.ranks.size() - kShownRanks));
  for (std::size_t i = 0; i < std::min(run.findings.size(), kShownFindings); ++i)
    add_line((run.findings[i].fault() ? "! " : "  ") + run.findings[i].message);
  if (run.findings.empty() && run.progress && !run.progress->cause.empty()) add_line("! " + run.progress->cause);
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
                        {"fault", finding.fault()},
                        {"seconds", finding.seconds},
                        {"message", finding.message}});
  const Json object = {{"schema_version", 1},
                       {"out", run.out},
                       {"folder", run.folder},
                       {"state", run.state},
                       {"progress", run.progress ? Json::parse(progress_json(*run.progress)) : Json()},
                       {"exit_code", run.progress && run.progress->exit_code ? Json(*run.progress->exit_code) : Json()},
                       {"failure", run.failure()},
                       {"events", run.sent},
                       {"events_committed", run.committed},
                       {"events_dropped", run.dropped},
                       {"events_per_s", run.events_per_second ? Json(*run.events_per_second) : Json()},
                       {"shards", run.shards},
                       {"ranks", std::move(ranks)},
                       {"findings", std::move(findings)}};
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace spscope
