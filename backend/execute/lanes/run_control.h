// RunControl: what the lanes of one run share about its progress. Lanes wait here for ops of other lanes, say here that
// they are alive, and are stopped here when one of them fails, hangs, or the user interrupts.
//
// Every op is idle, then posted, then ended. A stop makes every wait return by throwing StopLane, which unwinds the
// lane to its main; the first reason to stop is the one that is reported, later ones are its consequences.
//
// What lanes share lies on a board: in memory of this process, or in memory that several processes share, each with a
// RunControl of its own on the same board.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/base/error.h"
#include "backend/execute/lanes/wait_word.h"
#include "backend/plan/plan.h"
#include "backend/record/op_recorder.h"

namespace spscope {

// Thrown inside a lane to leave it because the run stops. Not an error of this lane.
struct StopLane {};

// Names an op for an error message: "exchange op 17 (sequence 5, lane 1, peer rank 3, 4096 bytes)".
std::string describe_op(const Plan& plan, OpId op);

// -- what stands on a board; all zero at first

struct OpFlags {
  WaitWord state, takers;
};
// What one lane is doing.
struct alignas(64) LaneProgress {
  std::atomic<OpId> op_plus_1{0}, waits_for_plus_1{0};  // 0: none
  std::atomic<std::int64_t> beats{0};
  std::atomic<std::int64_t> heard_ns{0};  // when a rank of another node told of it last; 0: never, or of this node
};
// The same, outside of a board.
struct LanePlace {
  OpId op = kNone, waits_for = kNone;
  std::int64_t beats = 0;
};
// Why the run stops: written once, by whoever is first.
struct StopRecord {
  static constexpr std::size_t kMaxText = 3072;
  std::atomic<std::int32_t> state{0};  // 0 none, 1 being written, 2 there
  std::int32_t code = 0, rank = -1, lane = -1;
  OpId op = kNone;
  char text[kMaxText] = {};
};
// The same, outside of a board. An interrupt names no rank.
struct StopReason {
  ErrorCode code = ErrorCode::kInternal;
  RankFault fault;
  Error error() const;
};
// What the system says of the processes of ranks, asked when nobody makes progress. Empty functions know nothing.
struct SystemView {
  // Why the rank cannot go on by itself: "its process 12 is stopped by a signal, ..."; "": it can, or nobody knows.
  std::function<std::string(int rank)> why_lost;
  // Whether the rank's process computes now; nothing: nobody knows.
  std::function<std::optional<bool>(int rank)> computes;
};
struct ControlBoard {
  std::span<OpFlags> ops;         // by op
  std::span<LaneProgress> lanes;  // by rank, by lane
  StopRecord* stop = nullptr;
};

class RunControl {
 public:
  // On a board of its own.
  explicit RunControl(const Plan& plan);
  RunControl(const Plan& plan, const ControlBoard& board) : plan_(plan), board_(board) {}

  // Before a repeat: no op is posted, no lane inside one. Not thread-safe; on a shared board, by one of its processes.
  // A reason to stop stays: nothing runs after one.
  void reset();

  // -- called by the lane `lane` of `rank`
  // The lane turns to an op, or to none when it is done. Throws StopLane when the run stops, like every call below.
  void enter(int rank, int lane, OpId op);
  void beat(int rank, int lane);
  // `takers`: ranks that will take data from this op's rank before it can end.
  void set_posted(OpId op, int takers = 0);
  void set_ended(OpId op);
  bool has_posted(OpId op) const { return board_.ops[at(op)].state.load() >= kPosted; }
  void set_taken(OpId op) { board_.ops[at(op)].takers.add(-1); }
  void wait_posted(int rank, int lane, OpId op) { wait(rank, lane, op, kPosted); }
  void wait_ended(int rank, int lane, OpId op) { wait(rank, lane, op, kEnded); }
  // Until every taker of the lane's own op has its data.
  void wait_taken(int rank, int lane, OpId op);
  // A lane that waits for something else: for what its own op gets from other nodes.
  void begin_wait(int rank, int lane, OpId op) { lane_of(rank, lane).waits_for_plus_1 = op + 1; }
  void end_wait(int rank, int lane) { lane_of(rank, lane).waits_for_plus_1 = 0; }
  void leave_if_stopping() const {
    if (stopping_.load(std::memory_order_acquire)) throw StopLane();
  }
  // The lane's op failed; the run stops.
  void fail(int rank, int lane, const std::string& reason);

  // -- called from outside
  // Every lane of this process leaves at its next call into this class; the reason is kept if it is the first one.
  // Thread-safe; may be called again.
  void stop(const StopReason& reason);
  // The same for a reason that stands on the board already.
  void stop();
  const std::atomic<bool>& stopping() const { return stopping_; }
  // Grows whenever any lane on the board makes progress.
  std::int64_t progress() const;
  // The first reason to stop, if there is one; of any process on the board.
  std::optional<StopReason> reason() const;
  // Names the rank that the others wait for: one whose process cannot go on; else a lane that is inside an op and waits
  // for nobody; else the one with the lowest post. No rank: nobody is inside an op or lost.
  RankFault describe_hang(double seconds, const SystemView& system = {}) const;

  // Where a lane is; of ranks of other nodes, as they told last.
  LanePlace place(int rank, int lane) const;
  void set_place(int rank, int lane, const LanePlace& place, std::int64_t heard_ns);
  std::int64_t heard_ns(int rank) const { return lane_of(rank, 0).heard_ns; }

 private:
  enum State : std::int32_t { kIdle = 0, kPosted = 1, kEnded = 2 };
  struct OwnBoard;
  struct Stuck;
  static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }
  LaneProgress& lane_of(int rank, int lane) const { return board_.lanes[at(rank) * at(plan_.lanes) + at(lane)]; }
  void wait(int rank, int lane, OpId op, State wanted);
  template <typename Done>
  void wait_until(int rank, int lane, OpId op, WaitWord& word, Done&& done);
  std::vector<Stuck> find_stuck(const SystemView& system) const;

  const Plan& plan_;
  std::shared_ptr<OwnBoard> own_;
  ControlBoard board_;
  std::atomic<bool> stopping_{false};
};

}  // namespace spscope
