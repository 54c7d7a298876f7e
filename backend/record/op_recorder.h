// OpRecorder: where an executor leaves the events of a plan that it runs, and the lines on which it says what every
// lane does at this moment, although it knows neither files nor formats.
//
// ended() is called by the lane's own thread; it never waits, never throws and costs tens of nanoseconds. After a run
// was told to stop, a lane makes no more calls; its last op is then one that did not end.
#pragma once

#include <cstdint>
#include <string>

#include "backend/base/ids.h"
#include "backend/record/now_page.h"
#include "backend/record/op_times.h"

namespace spscope {

// Why a repeat was stopped: the first cause, not what followed from it.
struct RankFault {
  int rank = -1, lane = -1;  // -1: none is known
  OpId op = kNone;
  bool hung = false;    // it made no progress; else it threw
  std::string message;  // names rank, op, peer, sequence number and bytes
};

class OpRecorder {
 public:
  virtual ~OpRecorder() = default;
  // A repeat of the plan begins on this process, or has ended; by the executor's caller, while no lane runs.
  // repeat < 0: a warm-up. One that was stopped ends too, after its fault, if it had one, was told.
  virtual void begin_pass(int repeat) noexcept = 0;
  virtual void end_pass() noexcept = 0;
  virtual void fault(const RankFault& fault) noexcept = 0;

  // The run that repeats belong to from now on, as lines and events name it.
  virtual RunId run() const noexcept = 0;
  // The line that the executor keeps for a lane of this process, valid as long as the recorder; nullptr: there is none
  // for it. Counts of events that it holds are kept.
  virtual NowLine* line(int rank, int lane) noexcept = 0;
  // The file that the lines lie in, which processes of this host can map (NowPageView); "": none.
  virtual std::string page_path() const = 0;

  // Events of a lane since the process began.
  struct EventCounts {
    std::int64_t sent = 0, dropped = 0;
  };
  // The op has ended with these times, which are raw: CLOCK_MONOTONIC_RAW of this host.
  virtual EventCounts ended(int rank, int lane, OpId op, const OpTimes& raw_times) noexcept = 0;
};

}  // namespace spscope
