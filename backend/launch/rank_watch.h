// RankWatch: what a launcher sees of its ranks while they run, and what it says and keeps of it.
//
// Ranks report most faults themselves. What they cannot is that their own process was killed or stopped; and when all
// of them are stuck outside of a repeat, none of them looks. What is kept is what ended the run, and not what followed
// from it: when one rank dies, mpirun ends the others.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backend/collect/live_collection.h"
#include "backend/collect/watchdog.h"
#include "backend/launch/mpirun.h"

namespace spscope {

class RankWatch {
 public:
  // For ranks that report a hang to end by themselves.
  static constexpr double kLeaveSeconds = 15;

  // `say` tells people, a line at a time: each stop and each slow rank once. Ranks that are stuck report it after
  // `patience_seconds`; when they have not ended `leave_seconds` later, look() gives up on them.
  RankWatch(const CollectingNote& note, double patience_seconds, std::function<void(const std::string&)> say,
            double leave_seconds = kLeaveSeconds);

  // Looks at all ranks, if it is time to; cheap enough to be called every 20 ms. False: they are stuck for good and
  // have to be ended.
  bool look();
  // All of them and mpirun have ended.
  void ended(const LaunchEnd& end);
  // The same when nobody tells how the ranks ended: whether all of this host wrote what they had, and none reports a
  // fault.
  bool ended_well() const;

  // The first process that look() found gone with no word of a fault before it; mpirun ends the others then.
  std::optional<RankFinding> lost() const { return left_before_ ? std::nullopt : lost_; }
  // After ended(): what ended a run that failed, when it was no rank itself that says so.
  const std::optional<RankFinding>& cause() const { return cause_; }
  // After ended(): the cause, then the stops that went by.
  std::vector<IncidentRecord> incidents() const;

 private:
  struct Stop {
    RankFinding finding;
    std::int64_t since_ns = 0, went_on_ns = 0;  // went_on_ns 0: it is stopped
    bool told = false;                          // that it went on
  };
  std::vector<WatchedProcess> read_processes() const;
  void follow_stops(const std::vector<RankFinding>& findings, bool leaving, std::int64_t now_ns);
  void tell_went_on(Stop& stop);
  void tell_slow(const std::vector<RankFinding>& findings);
  void give_up(const RankFinding& finding, const std::vector<RankFinding>& findings);

  const CollectingNote note_;
  const double give_up_seconds_;
  const std::function<void(const std::string&)> say_;
  const MemoryGroup memory_at_start_;
  LiveCollection live_;  // for the names of ops
  Watchdog watchdog_;
  std::int64_t next_look_ns_ = 0;

  std::optional<RankFinding> lost_;  // the first process that was found gone and had not told all it had to
  WatchedProcess lost_process_;
  bool left_before_ = false;       // another one had ended by itself then: of a fault, so that mpirun ended this one
  std::vector<Stop> stops_;        // in the order in which they began
  std::map<int, OpId> told_slow_;  // by rank
  bool gave_up_ = false;
  std::optional<RankFinding> cause_;
};

}  // namespace spscope
