// OpRecorder: the interface through which an executor reports the progress of a plan. Implementations record events and
// publish the current state of every lane, so that the executor depends on neither files nor formats.
//
// Calls with a rank and a lane are made by that lane's thread; they never block, never throw and cost tens of
// nanoseconds. Once a run is stopping, a lane makes no more calls; its last op then has no ended().
#pragma once

#include <cstdint>
#include <string>

#include "backend/base/ids.h"
#include "backend/record/op_times.h"

namespace spscope {

// The phases of an op on its lane.
enum class OpPhase : std::uint8_t {
  kWaiting,    // for ops that it depends on, of its own rank or of others
  kComputing,  // its kernel runs
  kPosted,     // posted, waiting for partners
  kMoving,     // all partners have posted: data moves
};

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
  // repeat < 0: a warm-up. end_pass() follows every begin_pass(), also of a stopped repeat, after its fault() if any.
  virtual void begin_pass(int repeat) noexcept = 0;
  virtual void end_pass() noexcept = 0;
  virtual void fault(const RankFault& fault) noexcept = 0;

  // The lane starts the op, in phase kWaiting.
  virtual void enter(int rank, int lane, OpId op, std::int64_t now_ns) noexcept = 0;
  // The op enters another phase. now_ns, as all times here, is CLOCK_MONOTONIC_RAW of this host.
  virtual void phase(int rank, int lane, OpId op, OpPhase phase, std::int64_t now_ns) noexcept = 0;
  // In phase kPosted: the lane now waits for this partner. Not called for partners that have posted already.
  virtual void waits_for(int rank, int lane, OpId op, int peer) noexcept = 0;
  // The op has ended with these times.
  virtual void ended(int rank, int lane, OpId op, const OpTimes& raw_times) noexcept = 0;
};

}  // namespace spscope
