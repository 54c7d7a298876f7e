// RunControl: what the lanes of one run share about its progress. Lanes wait here for ops of other lanes, say here that
// they are alive, and are stopped here when one of them fails, hangs, or the user interrupts.
//
// Every op is idle, then posted, then ended. Waiting spins a moment and then blocks in the kernel, so that many more
// ranks than cores cost nothing while they wait. A stop makes every wait return by throwing StopLane, which unwinds the
// lane to its main; the first failure is the one that is reported, later ones are its consequences.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "backend/execute/op_recorder.h"
#include "backend/plan/plan.h"

namespace spscope {

// Thrown inside a lane to leave it because the run stops. Not an error of this lane.
struct StopLane {};

// Names an op for an error message: "exchange op 17 (sequence 5, lane 1, peer rank 3, 4096 bytes)".
std::string describe_op(const Plan& plan, OpId op);

class RunControl {
 public:
  explicit RunControl(const Plan& plan);

  // Back to the state before a run. Not thread-safe.
  void reset();

  // -- called by the lane `lane` of `rank`
  // The lane turns to an op, or to none when it is done. Throws StopLane when the run stops, like every call below.
  void enter(int rank, int lane, OpId op);
  void beat(int rank, int lane);
  // `takers`: ranks that will take data from this op's rank before it can end.
  void set_posted(OpId op, int takers = 0);
  void set_ended(OpId op);
  void set_taken(OpId op) {
    if (takers_[at(op)].fetch_sub(1, std::memory_order_acq_rel) == 1) takers_[at(op)].notify_all();
  }
  void wait_posted(int rank, int lane, OpId op) { wait(rank, lane, op, kPosted); }
  void wait_ended(int rank, int lane, OpId op) { wait(rank, lane, op, kEnded); }
  // Until every taker of the lane's own op has its data.
  void wait_taken(int rank, int lane, OpId op);
  // The lane's op failed; the run stops.
  void fail(int rank, int lane, const std::string& reason);

  // -- called from outside
  // Every lane leaves at its next call into this class. Thread-safe; may be called again.
  void stop();
  const std::atomic<bool>& stopping() const { return stopping_; }
  // Grows whenever any lane makes progress.
  std::int64_t progress() const;
  // The first failure, if there was one.
  std::optional<RankFault> failure() const;
  // Names the rank that the others wait for: a lane that is inside an op and waits for nobody; else the one with the
  // lowest post.
  RankFault describe_hang(double seconds) const;

 private:
  enum State : std::int32_t { kIdle = 0, kPosted = 1, kEnded = 2, kStopped = 3 };
  static constexpr std::int32_t kNobody = -1 << 30;  // takers after a stop
  struct alignas(64) Lane {
    std::atomic<OpId> op{kNone}, waits_for{kNone};
    std::atomic<std::int64_t> beats{0};
  };
  static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }
  Lane& lane_of(int rank, int lane) { return lanes_[at(rank) * at(plan_.lanes) + at(lane)]; }
  void wait(int rank, int lane, OpId op, State wanted);
  void leave_if_stopping() const {
    if (stopping_.load(std::memory_order_acquire)) throw StopLane();
  }

  const Plan& plan_;
  std::vector<std::atomic<std::int32_t>> states_, takers_;  // by op
  std::vector<Lane> lanes_;                                 // by rank, by lane
  std::atomic<bool> stopping_{false};
  mutable std::mutex mutex_;
  std::optional<RankFault> failure_;
};

}  // namespace spscope
