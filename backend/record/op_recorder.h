// OpRecorder: the interface through which an executor records the events of a plan and publishes the current state of
// every lane, so that the executor depends on neither files nor formats.
//
// ended() is called by the lane's own thread; it never blocks, never throws and costs tens of nanoseconds. Once a run
// is stopping, a lane makes no more calls; its last op then has no ended().
#pragma once

#include <cstdint>
#include <string>

#include "backend/base/ids.h"
#include "backend/record/now_page.h"
#include "backend/record/op_times.h"

namespace spscope {

// The first cause for which a repeat was stopped, not its consequences.
struct RankFault {
  int rank = -1, lane = -1;  // -1: unknown
  OpId op = kNone;
  bool hung = false;    // true: no progress; false: it threw
  std::string message;  // names rank, op, peer, sequence number and bytes
};

class OpRecorder {
 public:
  virtual ~OpRecorder() = default;
  // A repeat of the plan begins on this process, or has ended; called by the executor's caller while no lane runs.
  // repeat < 0: a warm-up. end_repeat() follows every begin_repeat(), also of a stopped one, after its fault() if any.
  virtual void begin_repeat(int repeat) noexcept = 0;
  virtual void end_repeat() noexcept = 0;
  virtual void fault(const RankFault& fault) noexcept = 0;

  // The run that repeats belong to from now on, as lines and events name it.
  virtual RunId run() const noexcept = 0;
  // The line that the executor writes for a lane of this process, valid as long as the recorder; nullptr: the lane has
  // none. The executor preserves its event counts.
  virtual NowLine* line(int rank, int lane) noexcept = 0;
  // The file that holds the lines, which processes of this host can map (NowPageView); "": none.
  virtual std::string page_path() const = 0;

  // Between the two, what this thread enqueues on a device is for the op. They do not nest, cost less than 100 ns, and
  // a run that is stopping leaves the second one out.
  virtual void launching(int /*rank*/, int /*lane*/, OpId /*op*/) noexcept {}
  virtual void launched() noexcept {}

  // Events of a lane since the process began.
  struct EventCounts {
    std::int64_t sent = 0, dropped = 0;
  };
  // The op has ended with these times, which are raw: CLOCK_MONOTONIC_RAW of this host.
  virtual EventCounts ended(int rank, int lane, OpId op, const OpTimes& raw_times) noexcept = 0;
};

}  // namespace spscope
