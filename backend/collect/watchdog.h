// Watchdog: why ranks make no progress, from their now pages and from what the system says of their processes.
//
// The state of a rank is that of its most telling lane; judge_lanes.h decides which rank is the cause. Works for
// threads of one process and for processes alike.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend/base/process.h"
#include "backend/record/computing.h"
#include "backend/record/judge_lanes.h"
#include "backend/record/now_page.h"
#include "backend/record/rank_records.h"

namespace spscope {

// One process of ranks as it was found.
struct WatchedProcess {
  NowPage page;
  // As the system has it; nothing when the process is gone.
  std::optional<ProcessFacts> facts;
  ThreadTable threads;                    // of the process, by thread id
  std::optional<int> signal;              // that ended it, when its parent knows
  std::optional<MemoryGroup> full_group;  // its control group, when that has counted a kill for memory since the start
};
// Reads page and process of the shard beside it. Throws Error when the page cannot be read.
WatchedProcess watch_process(const std::string& now_page_path);

// The lane of a rank that says most about what the rank does: inside an op, waiting for nobody, lowest post. nullptr:
// the rank is not of this page.
const NowPage::Line* telling_line(const NowPage& page, int rank);

// "signal 9 (Killed)"
std::string signal_text(int signal);

struct RankFinding {
  RankTrouble trouble = RankTrouble::kHung;
  int rank = -1, lane = -1;
  LaneNow now;
  double seconds = 0;   // without progress
  std::string message;  // names rank, op, peer, sequence number and bytes

  bool is_consequence = false;  // it is gone because another rank went before it

  // What is to be mended.
  bool fault() const { return incident() && !is_consequence; }
  // Nothing for kSlow and kWaiting, which are no faults.
  std::optional<IncidentRecord> incident() const;
};

class Watchdog {
 public:
  // A lane that stays where it is for `patience_seconds` is looked into. `op_name` gives an op's name for messages, or
  // "".
  explicit Watchdog(double patience_seconds, std::function<std::string(const LaneNow&)> op_name = {});
  // What is wrong now, the cause first. A process that ended or was stopped is reported at once.
  std::vector<RankFinding> look(std::span<const WatchedProcess> processes, std::int64_t now_ns);
  // Whether, as of the last look(), no lane has changed for so long and no process computed for an op meanwhile.
  bool quiet_for(double seconds);

 private:
  struct Seen {
    LaneNow now;
    std::int64_t since_ns = 0, cpu_ns = 0;  // when it was first seen so, and what its process had used then
    ThreadTable threads;                    // as of then
  };
  void find_stuck(const WatchedProcess& process, std::size_t number, std::int64_t now_ns,
                  std::vector<StuckLane>& stuck);
  void note_change(std::span<const WatchedProcess> processes, std::int64_t now_ns);
  RankFinding describe(const StuckLane& lane, const WatchedProcess& process, std::int64_t now_ns) const;
  std::string describe(const StuckLane& lane) const;

  double patience_seconds_;
  std::function<std::string(const LaneNow&)> op_name_;
  std::map<std::pair<int, int>, Seen> seen_;  // by rank and lane
  std::size_t num_lines_ = 0;                 // of the last look()
  bool changed_ = false;                      // whether the last look() found a lane elsewhere than before
  // Of the last look(), and of when a lane changed last: the time, and the threads of each process with a lane inside
  // an op that waits for nobody, by first rank.
  struct Moment {
    std::int64_t now_ns = 0;
    std::map<int, ThreadTable> working;
  };
  Moment looked_, quiet_since_;
};

}  // namespace spscope
