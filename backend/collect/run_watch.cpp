#include "backend/collect/run_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "backend/base/clock.h"
#include "backend/base/number_text.h"
#include "backend/base/result.h"

namespace spscope {
namespace {

constexpr double kPatienceSeconds = 5;  // before a rank that stays where it is is looked into

std::vector<WatchedRank> ranks_of(const WatchedProcess& process, std::int64_t now) {
  const NowPageOwner& owner = process.page.owner;
  std::vector<WatchedRank> ranks;
  for (int number = owner.first_rank; number < owner.first_rank + owner.ranks; ++number) {
    const NowPage::Line& line = *telling_line(process.page, number);
    WatchedRank& rank = ranks.emplace_back();
    rank.rank = number;
    rank.lane = line.lane;
    rank.now = line.now;
    rank.pid = owner.pid;
    rank.process_state = process.facts ? process.facts->state : ' ';
    if (line.now.inside_op())
      rank.seconds = static_cast<double>(std::max<std::int64_t>(0, now - line.now.begin_ns)) * 1e-9;
  }
  for (const NowPage::Line& line : process.page.lines) {
    WatchedRank& rank = ranks[static_cast<std::size_t>(line.rank - owner.first_rank)];
    rank.sent += line.now.sent;
    rank.dropped += line.now.dropped;
  }
  return ranks;
}

std::string duration(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.0f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.1f} ms", seconds * 1e3);
  return fmt::format("{:.1f} s", seconds);
}

}  // namespace

std::string doing_text(const WatchedRank& rank) {
  const LaneNow& now = rank.now;
  if (rank.process_state == ' ') return "its process is gone";
  if (rank.process_state == 'T' || rank.process_state == 't') return "stopped by a signal";
  if (!now.inside_op()) return std::string(lane_state_name(now.state));
  std::string text = fmt::format("{} {} op {}", lane_state_name(now.state), rank.op_name, now.op);
  if (now.state == LaneState::kWaitingForPeer && now.peer >= 0) text += fmt::format(" for rank {}", now.peer);
  return text + fmt::format(", {}", duration(rank.seconds));
}

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
  last_sent_ = seen.sent;
  last_look_ns_ = now;
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

std::string WatchedRun::events_text() const {
  const auto number = [](std::int64_t count) { return count_text(static_cast<double>(count)); };
  const std::string lost = dropped == 0 ? "none lost" : fmt::format("{} lost", number(dropped));
  if (sent == 0) return fmt::format("{} events in its files, {}", number(committed), lost);
  return fmt::format("{} events recorded{}, {} in its files, {}", number(sent),
                     events_per_second ? fmt::format(" ({}/s)", count_text(*events_per_second)) : "",
                     committed >= sent ? "all" : number(committed), lost);
}

std::string WatchedRun::failure() const {
  if (progress && !progress->cause.empty()) return progress->cause;
  for (const RankFinding& f : findings)
    if (f.trouble == RankTrouble::kKilled || f.trouble == RankTrouble::kLost) return f.message;
  return "";
}

}  // namespace spscope
