// OpRecorder: what an executor tells while it runs a plan, so that events reach a file, and others can see what every
// lane does at this moment, although the executor knows neither files nor formats.
//
// Calls that name a rank and a lane are made by that lane's own thread; they never wait, never throw and cost tens of
// nanoseconds. After a run was told to stop, a lane makes no more calls; its last op is then one that did not end.
#pragma once

#include <cstdint>
#include <string>

#include "backend/base/ids.h"
#include "backend/record/op_times.h"

namespace spscope {

// What a lane does inside an op.
enum class OpPhase : std::uint8_t {
  kWaiting,    // for ops that it depends on, of its own rank or of others
  kComputing,  // its kernel runs
  kPosted,     // it has posted and waits for its partners
  kMoving,     // all partners have posted: data moves
};

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

  // The lane turns to the op and waits for what the op depends on.
  virtual void enter(int rank, int lane, OpId op, std::int64_t now_ns) noexcept = 0;
  // The op goes on to another phase. now_ns is raw, as all times here: CLOCK_MONOTONIC_RAW of this host.
  virtual void phase(int rank, int lane, OpId op, OpPhase phase, std::int64_t now_ns) noexcept = 0;
  // While posted: of its partners, the lane now waits for this rank. Not told of partners that have posted already.
  virtual void waits_for(int rank, int lane, OpId op, int peer) noexcept = 0;
  // The op has ended with these times.
  virtual void ended(int rank, int lane, OpId op, const OpTimes& raw_times) noexcept = 0;
};

}  // namespace spscope
