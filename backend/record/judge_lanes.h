// judge_lanes(): which of the lanes that make no progress is the cause, and which only wait for it. The one place where
// this is decided: for the ranks that watch themselves, and for launchers and viewers that read their pages.
//
// When one rank stops, the others soon wait for it, and those that wait are many. The cause is a process that is gone;
// else one that was stopped; else a lane that is inside an op and waits for nobody, first those that another lane waits
// for; only then lanes that wait. Posts are totally ordered, so of several that wait, the one with the lowest post
// cannot be waiting for the others.
//
// Five types describe a rank in trouble:
//
//   StuckLane        a lane without progress, for the judge         made by RunControl::find_stuck, by Watchdog
//   RankFinding      a judged one, with the message for people      made by Watchdog (collect/watchdog.h)
//   RankFault        why a repeat was stopped, for the recorder     made by RunControl (type: record/op_recorder.h)
//   StopReason       a RankFault with its error code, on the board  made by who stops a run (lanes/run_control.h)
//   IncidentRecord   a row of the table `incident` of a file        made of a fault, a finding, or the end of a run
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "backend/record/now_page.h"

namespace spscope {

// Ordered by how near to the cause they are.
enum class RankTrouble {
  kKilled,   // its process was ended by a signal
  kLost,     // its process disappeared, cause unknown
  kStopped,  // its process was stopped by a signal (SIGSTOP, a debugger), or is not heard of
  kHung,     // it is inside an op, waits for nobody, and does not compute as far as is known
  kSlow,     // its process computes (record/computing.h): no fault, and no run is stopped for it, however long it takes
  kWaiting,  // it waits for another lane or rank: a consequence
};

enum class ProcessState { kRuns, kStopped, kKilled, kLost };

// A lane that makes no progress, or of a process that cannot.
struct StuckLane {
  int rank = -1, lane = -1;  // lane -1: the rank is inside no op
  LaneNow now = {};
  ProcessState process = ProcessState::kRuns;
  std::optional<bool> computes = {};         // whether its process does (record/computing.h); nullopt: unknown
  RankTrouble trouble = RankTrouble::kHung;  // set by judge_lanes()
  std::size_t tag = 0;                       // of the caller
};

// Whether the lane cannot go on without another lane or rank.
bool waits(const LaneNow& now);

// Sets `trouble` of each and sorts them, the cause first.
void judge_lanes(std::vector<StuckLane>& lanes);

}  // namespace spscope
