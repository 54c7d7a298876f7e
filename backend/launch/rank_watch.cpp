#include "backend/launch/rank_watch.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/base/clock.h"
#include "backend/base/result.h"
#include "backend/store/store_reader.h"

namespace spscope {
namespace {

constexpr std::int64_t kLookEveryNs = 20'000'000;
constexpr std::int64_t kLookShare = 20;  // of the launcher's time: a twentieth, however many ranks there are
// Before a stop counts as over: mpirun lets a stopped rank go on, to end it a second later.
constexpr std::int64_t kGoesOnNs = 3'000'000'000;

double seconds_between(std::int64_t begin_ns, std::int64_t end_ns) {
  return static_cast<double>(end_ns - begin_ns) * 1e-9;
}

// Which ranks are on other hosts, from where nothing is seen of their processes; "" when there are none.
std::string other_hosts(const CollectingNote& note, const char* before) {
  const auto now = capture([&] { return find_collection(note.folder); });
  if (!now || !*now || (*now)->elsewhere.empty()) return {};
  return before + describe((*now)->elsewhere);
}

// Whether a shard tells of a fault.
bool has_incident(const CollectingNote& note) {
  return std::ranges::any_of(note.shards(), [](const std::string& path) {
    const auto found = capture([&] { return !StoreReader::shard(path).incidents().empty(); });
    return found && *found;
  });
}

}  // namespace

RankWatch::RankWatch(const CollectingNote& note, double patience_seconds, std::function<void(const std::string&)> say,
                     double leave_seconds)
    : note_(note),
      give_up_seconds_(patience_seconds + leave_seconds),
      say_(std::move(say)),
      memory_at_start_(read_memory_group()),
      live_(note),
      watchdog_(patience_seconds, [this](const LaneNow& now) {
        const auto polled = capture([&] {
          live_.poll();
          return live_.op_name(now.run, now.op);
        });
        return polled ? *polled : std::string();
      }) {}

std::vector<WatchedProcess> RankWatch::read_processes() const {
  std::vector<WatchedProcess> processes;
  for (const std::string& page : note_.now_pages())
    if (Result<WatchedProcess> found = capture([&] { return watch_process(page); }))
      processes.push_back(std::move(*found));
  return processes;
}

bool RankWatch::look() {
  const std::int64_t begin_ns = now_ns();
  if (lost_ || gave_up_ || begin_ns < next_look_ns_) return !gave_up_;
  const std::vector<WatchedProcess> processes = read_processes();
  const std::vector<RankFinding> findings = watchdog_.look(processes, begin_ns);
  const bool quiet = watchdog_.quiet_for(give_up_seconds_);  // so that the ranks will not end by themselves
  const bool leaving = std::ranges::any_of(processes, [](const WatchedProcess& p) { return p.page.complete; });
  follow_stops(findings, leaving, begin_ns);
  tell_slow(findings);
  for (const RankFinding& finding : findings) {
    if (finding.trouble == RankTrouble::kKilled || finding.trouble == RankTrouble::kLost) {
      lost_ = finding;
      left_before_ =
          std::ranges::any_of(processes, [](const WatchedProcess& p) { return p.page.complete && !p.facts; });
      for (const WatchedProcess& process : processes)
        if (process.page.owner.first_rank <= finding.rank &&
            finding.rank < process.page.owner.first_rank + process.page.owner.ranks)
          lost_process_ = process;
      return true;  // mpirun ends the others
    }
    if (quiet && (finding.trouble == RankTrouble::kStopped || finding.trouble == RankTrouble::kHung)) {
      give_up(finding, findings);
      break;
    }
  }
  const std::int64_t end_ns = now_ns();
  next_look_ns_ = end_ns + std::max(kLookEveryNs, kLookShare * (end_ns - begin_ns));
  return !gave_up_;
}

// `leaving`: a rank has told all it had to, so that mpirun may be ending the others: that a stop is over is not known
// before all have ended.
void RankWatch::follow_stops(const std::vector<RankFinding>& findings, bool leaving, std::int64_t now_ns) {
  const auto is_stopped = [&](int rank) {
    return std::ranges::any_of(
        findings, [rank](const RankFinding& f) { return f.rank == rank && f.trouble == RankTrouble::kStopped; });
  };
  for (Stop& stop : stops_) {
    if (stop.told) continue;
    if (is_stopped(stop.finding.rank)) {
      stop.went_on_ns = 0;
    } else if (stop.went_on_ns == 0) {
      stop.went_on_ns = now_ns;
    } else if (!leaving && now_ns - stop.went_on_ns > kGoesOnNs) {
      tell_went_on(stop);
    }
  }
  for (const RankFinding& finding : findings) {
    if (finding.trouble != RankTrouble::kStopped) continue;
    const auto known =
        std::ranges::find_if(stops_, [&](const Stop& stop) { return !stop.told && stop.finding.rank == finding.rank; });
    if (known != stops_.end()) {
      known->finding = finding;  // it may have gone on for a moment
      continue;
    }
    stops_.push_back({finding, now_ns, 0, false});
    say_(finding.message);
  }
}

void RankWatch::tell_went_on(Stop& stop) {
  stop.told = true;
  say_(fmt::format("rank {} goes on after {:.1f} s", stop.finding.rank,
                   seconds_between(stop.since_ns, stop.went_on_ns)));
}

// Only of one that others wait for.
void RankWatch::tell_slow(const std::vector<RankFinding>& findings) {
  const bool waits =
      std::ranges::any_of(findings, [](const RankFinding& f) { return f.trouble == RankTrouble::kWaiting; });
  if (findings.empty() || findings.front().trouble != RankTrouble::kSlow || !waits) return;
  const RankFinding& slow = findings.front();
  const auto [told, is_new] = told_slow_.try_emplace(slow.rank, kNone);
  if (!is_new && told->second == slow.now.op) return;
  told->second = slow.now.op;
  say_(slow.message);
}

// With one of those that wait for it: that one names the peer and the bytes.
void RankWatch::give_up(const RankFinding& finding, const std::vector<RankFinding>& findings) {
  gave_up_ = true;
  cause_ = finding;
  const auto waiting = std::ranges::find_if(
      findings, [&](const RankFinding& f) { return f.trouble == RankTrouble::kWaiting && f.now.peer == finding.rank; });
  if (waiting != findings.end()) cause_->message += "; " + waiting->message;
}

bool RankWatch::ended_well() const {
  const std::vector<WatchedProcess> processes = read_processes();
  return !processes.empty() && !has_incident(note_) &&
         std::ranges::all_of(processes, [](const WatchedProcess& process) { return process.page.complete; });
}

void RankWatch::ended(const LaunchEnd& end) {
  for (Stop& stop : stops_)
    if (stop.went_on_ns == 0) stop.went_on_ns = now_ns();
  if (gave_up_) return;
  if (end.exit_code == 0 && end.signal == 0) {
    for (Stop& stop : stops_)
      if (!stop.told) tell_went_on(stop);
    return;
  }
  if (end.mpirun_hung) {
    if (lost_ && !left_before_ && !has_incident(note_)) cause_ = lost_;
  } else if (lost_ && end.signal != 0 && !end.mpirun_died) {
    lost_process_.signal = end.signal;
    const MemoryGroup memory = read_memory_group();
    if (memory.path == memory_at_start_.path && memory.oom_kills > memory_at_start_.oom_kills)
      lost_process_.full_group = memory;
    const std::vector<RankFinding> judged = watchdog_.look({&lost_process_, 1}, now_ns());
    const auto same = std::ranges::find(judged, lost_->rank, &RankFinding::rank);
    cause_ = same != judged.end() ? *same : *lost_;
    cause_->message += other_hosts(note_, ", unless one of another host went first: ");
  } else if (end.mpirun_died) {
    cause_ = RankFinding{RankTrouble::kKilled, -1, -1, {}, 0, ""};
    cause_->message = fmt::format("mpirun was ended by {}, and with it the ranks", signal_text(end.signal));
  } else if (const auto open = std::ranges::find(stops_, false, &Stop::told); open != stops_.end()) {
    cause_ = open->finding;
    stops_.erase(open);
  } else if (end.signal != 0) {
    cause_ = RankFinding{RankTrouble::kKilled, -1, -1, {}, 0, ""};
    cause_->message = fmt::format("a rank was ended by {}, mpirun says{}", signal_text(end.signal),
                                  other_hosts(note_, "; none of this host was seen to go before, so one of others: "));
  }
}

std::vector<IncidentRecord> RankWatch::incidents() const {
  std::vector<IncidentRecord> incidents;
  if (cause_ && cause_->incident()) incidents.push_back(*cause_->incident());
  for (const Stop& stop : stops_) {
    if (gave_up_ && !stop.told) continue;  // it is the cause, or was when the ranks were ended
    IncidentRecord incident = *stop.finding.incident();
    incident.message += fmt::format("; it went on after {:.1f} s", seconds_between(stop.since_ns, stop.went_on_ns));
    incidents.push_back(std::move(incident));
  }
  return incidents;
}

}  // namespace spscope
