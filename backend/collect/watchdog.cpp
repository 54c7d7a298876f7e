#include "backend/collect/watchdog.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <set>
#include <tuple>

namespace spscope {
namespace {

// A process that computes uses at least this share of a core; one that waits for memory or a lock does not.
constexpr double kBusyShare = 0.05;

std::string how_it_ended(const WatchedProcess& process) {
  if (!process.signal) return fmt::format("its process {} is gone", process.page.owner.pid);
  std::string text =
      fmt::format("its process {} was ended by {}", process.page.owner.pid, signal_text(*process.signal));
  if (*process.signal != SIGKILL || !process.full_group) return text;
  text += fmt::format(": the memory of its control group \"{}\" was full", process.full_group->path);
  if (process.full_group->limit_bytes > 0) text += fmt::format(", at {} bytes", process.full_group->limit_bytes);
  return text;
}

// Of several that are gone, those that others last waited for went first, and those that waited themselves went last,
// after the one that they waited for.
int order_of_end(const RankFinding& finding, const std::set<int>& others_waited_for) {
  if (finding.trouble != RankTrouble::kKilled && finding.trouble != RankTrouble::kLost) return 0;
  if (finding.now.inside_op() && waits(finding.now.state)) return 2;
  return others_waited_for.contains(finding.rank) ? 0 : 1;
}

// The cause first.
void sort_by_cause(std::vector<RankFinding>& findings) {
  std::set<int> waited_for;
  for (const RankFinding& f : findings)
    if (f.now.inside_op() && waits(f.now.state)) waited_for.insert(f.now.peer);
  std::ranges::stable_sort(findings, {}, [&](const RankFinding& f) {
    return std::tuple(f.trouble, order_of_end(f, waited_for), f.now.inside_op() ? f.now.sequence : 0, f.rank);
  });
}

}  // namespace

const NowPage::Line* telling_line(const NowPage& page, int rank) {
  const NowPage::Line* best = nullptr;
  const auto key = [](const NowPage::Line& line) {
    return std::tuple(!line.now.inside_op(), waits(line.now.state), line.now.sequence);
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
std::string Watchdog::describe(const NowPage::Line& line) const {
  const LaneNow& now = line.now;
  std::string name = op_name_ ? op_name_(now) : std::string();
  if (!name.empty()) name += " ";
  std::string text = fmt::format("{}op {} (sequence {}, lane {}", name, now.op, now.sequence, line.lane);
  if (now.peer >= 0) text += fmt::format(", peer rank {}", now.peer);
  if (now.peer == kSeveralPeers) text += ", several peers";
  if (now.peer != kNoPeer) text += fmt::format(", {} bytes", now.bytes);
  return text + ")";
}

void Watchdog::look_at(const WatchedProcess& process, std::int64_t now_ns, std::vector<RankFinding>& findings) {
  const NowPage& page = process.page;
  const bool gone = !process.facts, stopped = process.facts && process.facts->stopped();
  if (gone && page.complete) return;  // it ended by itself
  const std::int64_t cpu_ns = process.facts ? process.facts->cpu_ns : 0;
  for (const NowPage::Line& line : page.lines) {
    const auto [at, is_new] = seen_.try_emplace({line.rank, line.lane}, Seen{line.now, now_ns, cpu_ns});
    Seen& seen = at->second;
    if (seen.now != line.now) seen = {line.now, now_ns, cpu_ns};
  }
  for (int rank = page.owner.first_rank; rank < page.owner.first_rank + page.owner.ranks; ++rank) {
    const NowPage::Line& line = *telling_line(page, rank);
    const Seen& seen = seen_.at({line.rank, line.lane});
    const double seconds = static_cast<double>(now_ns - seen.since_ns) * 1e-9;
    const bool inside = line.now.inside_op();
    RankFinding found{RankTrouble::kHung, rank, line.lane, line.now, seconds, ""};
    const std::string where = inside ? " in " + describe(line) : "";
    if (gone) {
      found.trouble = process.signal ? RankTrouble::kKilled : RankTrouble::kLost;
      found.message = fmt::format("rank {} ended{}: {}", rank, where, how_it_ended(process));
    } else if (stopped) {
      found.trouble = RankTrouble::kStopped;
      found.message = fmt::format(
          "rank {} is stopped{}: its process {} got SIGSTOP, SIGTSTP or a debugger, and goes on after "
          "kill -CONT {}",
          rank, where, page.owner.pid, page.owner.pid);
    } else if (!inside || seconds < patience_seconds_) {
      continue;
    } else if (waits(line.now.state)) {
      found.trouble = RankTrouble::kWaiting;
      found.message = fmt::format("rank {} waits for {:.1f} s{}", rank, seconds, where);
    } else {
      const double cpu_seconds = static_cast<double>(cpu_ns - seen.cpu_ns) * 1e-9;
      const bool busy = cpu_seconds >= kBusyShare * seconds;
      found.trouble = busy ? RankTrouble::kSlow : RankTrouble::kHung;
      found.message = fmt::format("rank {} {} for {:.1f} s{}: its process used {:.1f} s of CPU time meanwhile", rank,
                                  busy ? "computes slowly" : "made no progress", seconds, where, cpu_seconds);
      if (busy && line.now.state == LaneState::kTransferring)
        found.message = fmt::format("rank {} moves data slowly for {:.1f} s{}", rank, seconds, where);
    }
    findings.push_back(std::move(found));
  }
}

std::vector<RankFinding> Watchdog::look(std::span<const WatchedProcess> processes, std::int64_t now_ns) {
  std::vector<RankFinding> findings;
  for (const WatchedProcess& process : processes) look_at(process, now_ns, findings);
  sort_by_cause(findings);
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
