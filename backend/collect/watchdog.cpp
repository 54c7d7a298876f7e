#include "backend/collect/watchdog.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <set>
#include <tuple>
#include <utility>

namespace spscope {
namespace {

std::string how_it_ended(const WatchedProcess& process) {
  if (!process.signal) return fmt::format("its process {} is gone", process.page.owner.pid);
  std::string text =
      fmt::format("its process {} was ended by {}", process.page.owner.pid, signal_text(*process.signal));
  if (*process.signal != SIGKILL || !process.full_group) return text;
  text += fmt::format(": the memory of its control group \"{}\" was full", process.full_group->path);
  if (process.full_group->limit_bytes > 0) text += fmt::format(", at {} bytes", process.full_group->limit_bytes);
  return text;
}

}  // namespace

const NowPage::Line* telling_line(const NowPage& page, int rank) {
  const NowPage::Line* best = nullptr;
  const auto key = [](const NowPage::Line& line) {
    return std::tuple(!line.now.inside_op(), waits(line.now), line.now.sequence);
  };
  for (const NowPage::Line& line : page.lines)
    if (line.rank == rank && (best == nullptr || key(line) < key(*best))) best = &line;
  return best;
}

std::string signal_text(int signal) {
  const char* name = ::sigdescr_np(signal);
  return fmt::format("signal {} ({})", signal, name != nullptr ? name : "unknown");
}

WatchedProcess watch_process(const std::string& now_page_path) {
  WatchedProcess process;
  process.page = read_now_page(now_page_path);
  if (process.page.owner.boot_hash == hash_of_boot_id()) process.facts = read_process(process.page.owner.pid);
  if (process.facts && (process.facts->state == 'Z' || process.facts->start_ticks != process.page.owner.start_ticks))
    process.facts.reset();
  if (process.facts) process.threads = read_threads(process.page.owner.pid);
  return process;
}

std::optional<IncidentRecord> RankFinding::incident() const {
  if (trouble == RankTrouble::kSlow || trouble == RankTrouble::kWaiting) return std::nullopt;
  const IncidentKind kind = trouble == RankTrouble::kKilled    ? IncidentKind::kKilled
                            : trouble == RankTrouble::kLost    ? IncidentKind::kLost
                            : trouble == RankTrouble::kStopped ? IncidentKind::kStopped
                                                               : IncidentKind::kHung;
  IncidentRecord record{rank, lane, now.op, std::nullopt, kind, message};
  if (now.inside_op()) record.run_id = now.run;
  return record;
}

Watchdog::Watchdog(double patience_seconds, std::function<std::string(const LaneNow&)> op_name)
    : patience_seconds_(patience_seconds), op_name_(std::move(op_name)) {}

// "exchange kv op 17 (sequence 5, lane 1, peer rank 3, 4096 bytes)"
std::string Watchdog::describe(const StuckLane& lane) const {
  const LaneNow& now = lane.now;
  std::string name = op_name_ ? op_name_(now) : std::string();
  if (!name.empty()) name += " ";
  std::string text = fmt::format("{}op {} (sequence {}, lane {}", name, now.op, now.sequence, lane.lane);
  if (now.peer >= 0) text += fmt::format(", peer rank {}", now.peer);
  if (now.peer == kSeveralPeers) text += ", several peers";
  if (now.peer != kNoPeer) text += fmt::format(", {} bytes", now.bytes);
  return text + ")";
}

// Of each rank the lane that says most, if it has been where it is for long or its process cannot go on.
void Watchdog::find_stuck(const WatchedProcess& process, std::size_t number, std::int64_t now_ns,
                          std::vector<StuckLane>& stuck) {
  const NowPage& page = process.page;
  if (!process.facts && page.complete) return;  // it ended by itself
  ProcessState state = ProcessState::kRuns;
  if (!process.facts) state = process.signal ? ProcessState::kKilled : ProcessState::kLost;
  if (process.facts && process.facts->stopped()) state = ProcessState::kStopped;
  const std::int64_t cpu_ns = process.facts ? process.facts->cpu_ns : 0;
  for (const NowPage::Line& line : page.lines) {
    const auto [at, is_new] =
        seen_.try_emplace({line.rank, line.lane}, Seen{line.now, now_ns, cpu_ns, process.threads});
    Seen& seen = at->second;
    changed_ |= is_new || seen.now != line.now;
    if (seen.now != line.now) seen = {line.now, now_ns, cpu_ns, process.threads};
  }
  for (int rank = page.owner.first_rank; rank < page.owner.first_rank + page.owner.ranks; ++rank) {
    const NowPage::Line& line = *telling_line(page, rank);
    const Seen& seen = seen_.at({line.rank, line.lane});
    const std::int64_t window_ns = now_ns - seen.since_ns;
    if (state == ProcessState::kRuns &&
        (!line.now.inside_op() || static_cast<double>(window_ns) * 1e-9 < patience_seconds_))
      continue;
    stuck.push_back({.rank = rank,
                     .lane = line.lane,
                     .now = line.now,
                     .process = state,
                     .computes = has_computed(seen.threads, process.threads, window_ns),
                     .tag = number});
  }
}

RankFinding Watchdog::describe(const StuckLane& lane, const WatchedProcess& process, std::int64_t now_ns) const {
  const Seen& seen = seen_.at({lane.rank, lane.lane});
  RankFinding found{lane.trouble, lane.rank, lane.lane, lane.now, 0, ""};
  found.seconds = static_cast<double>(now_ns - seen.since_ns) * 1e-9;
  const int pid = process.page.owner.pid;
  const std::string where = lane.now.inside_op() ? " in " + describe(lane) : "";
  switch (lane.trouble) {
    case RankTrouble::kKilled:
    case RankTrouble::kLost:
      found.message = fmt::format("rank {} ended{}: {}", lane.rank, where, how_it_ended(process));
      break;
    case RankTrouble::kStopped:
      found.message = fmt::format(
          "rank {} is stopped{}: its process {} got SIGSTOP, SIGTSTP or a debugger, and goes on after "
          "kill -CONT {}",
          lane.rank, where, pid, pid);
      break;
    case RankTrouble::kWaiting:
      found.message = fmt::format("rank {} waits for {:.1f} s{}", lane.rank, found.seconds, where);
      break;
    case RankTrouble::kHung:
    case RankTrouble::kSlow:
      if (lane.trouble == RankTrouble::kSlow && lane.now.state == LaneState::kTransferring)
        found.message = fmt::format("rank {} moves data slowly for {:.1f} s{}", lane.rank, found.seconds, where);
      else
        found.message =
            fmt::format("rank {} {} for {:.1f} s{}: its process used {:.1f} s of CPU time meanwhile", lane.rank,
                        lane.trouble == RankTrouble::kSlow ? "computes slowly" : "made no progress", found.seconds,
                        where, static_cast<double>(process.facts->cpu_ns - seen.cpu_ns) * 1e-9);
      break;
  }
  return found;
}

void Watchdog::note_change(std::span<const WatchedProcess> processes, std::int64_t now_ns) {
  std::size_t num_lines = 0;
  looked_ = {now_ns, {}};
  for (const WatchedProcess& process : processes) {
    num_lines += process.page.lines.size();
    const bool works = std::ranges::any_of(
        process.page.lines, [](const NowPage::Line& line) { return line.now.inside_op() && !waits(line.now); });
    if (works) looked_.working[process.page.owner.first_rank] = process.threads;
  }
  changed_ |= std::exchange(num_lines_, num_lines) != num_lines;
  if (changed_) quiet_since_ = looked_;
}

bool Watchdog::quiet_for(double seconds) {
  const std::int64_t quiet_ns = looked_.now_ns - quiet_since_.now_ns;
  if (static_cast<double>(quiet_ns) * 1e-9 <= seconds) return false;
  const bool computed = std::ranges::any_of(looked_.working, [&](const auto& process) {
    const auto before = quiet_since_.working.find(process.first);
    return before != quiet_since_.working.end() && has_computed(before->second, process.second, quiet_ns) == true;
  });
  if (computed) quiet_since_ = looked_;  // it may take as long again
  return !computed;
}

std::vector<RankFinding> Watchdog::look(std::span<const WatchedProcess> processes, std::int64_t now_ns) {
  std::vector<StuckLane> stuck;
  changed_ = false;
  for (std::size_t i = 0; i < processes.size(); ++i) find_stuck(processes[i], i, now_ns, stuck);
  note_change(processes, now_ns);
  judge_lanes(stuck);
  std::vector<RankFinding> findings;
  for (const StuckLane& lane : stuck) findings.push_back(describe(lane, processes[lane.tag], now_ns));
  // A rank that waits for one that is at fault says so.
  std::set<int> faulty;
  for (const RankFinding& f : findings)
    if (f.incident()) faulty.insert(f.rank);
  for (RankFinding& f : findings)
    if (f.trouble == RankTrouble::kWaiting && faulty.contains(f.now.peer))
      f.message += fmt::format(": rank {} is missing", f.now.peer);
  return findings;
}

}  // namespace spscope
