// RunWatch: a running collection as those see it who watch it: what each rank does, what is wrong, where the run is.
// The model of `spscope watch` and of any window that shows the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/collect/live_collection.h"
#include "backend/collect/progress_page.h"
#include "backend/collect/watchdog.h"

namespace spscope {

// A rank as it is now: the lane that says most about it.
struct WatchedRank {
  int rank = 0, lane = 0, pid = 0;
  char process_state = ' ';  // as in proc(5); ' ': the process is gone or not of this host
  LaneNow now;
  std::string op_name;
  double seconds = 0;  // in this op
  LiveShard::Place place;
  std::int64_t sent = 0, dropped = 0;  // by all lanes
};

// "computing attend op 12, 1.2 s", "waiting for peer exchange kv op 3 for rank 5, 340 ms", "stopped by a signal"
std::string doing_text(const WatchedRank& rank);

struct WatchedRun {
  std::string out, folder, state;       // state: running, merging, died, ended
  std::optional<RunProgress> progress;  // nothing on hosts other than that of rank 0
  // Events: that ranks have recorded, that are in shards, that were lost. A scheduled run has no ranks that record: it
  // writes its events itself, and `sent` stays 0.
  std::int64_t sent = 0, committed = 0, dropped = 0;
  std::optional<double> events_per_second;  // since the look before
  int shards = 0;
  std::vector<WatchedRank> ranks;
  std::vector<RankFinding> findings;  // the cause first

  bool is_over() const { return state == "ended" || state == "died"; }
  // "8,688 events recorded (1,200/s), all of them in its files, none lost"
  std::string events_text() const;
  // What is known to end the run: a rank that is gone, or what the run itself says. "": nothing.
  std::string failure() const;
};

// Looks at a collection again and again.
class RunWatch {
 public:
  explicit RunWatch(const CollectingNote& note);
  WatchedRun look();

 private:
  void put_first_cause_first(WatchedRun& seen);

  LiveCollection live_;
  ProgressReader progress_;
  Watchdog watchdog_;
  std::optional<int> first_gone_;  // the rank that was found gone before all others
  std::int64_t last_sent_ = 0, last_look_ns_ = 0;
};

}  // namespace spscope
