// RunControl: what the lanes of one run share about its progress. Lanes wait here for ops of other lanes, say here what
// they do, and are stopped here when one of them fails, hangs, or the user interrupts.
//
// Every op is idle, then posted, then ended. A stop makes every wait return by throwing StopLane, which unwinds the
// lane to its main; the first reason to stop is the one that is reported, later ones are its consequences.
//
// What lanes share lies on a board: the states of ops, the reason to stop, and of each lane the line that says what it
// does (record/now_page.h). The line is the only place where that is said, written at each turn of an op: in the page
// of the recorder, which others read too, or else in memory of the run. Several processes may share a board, each with
// a RunControl of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/base/error.h"
#include "backend/base/ids.h"
#include "backend/execute/lanes/wait_word.h"
#include "backend/plan/plan.h"
#include "backend/record/judge_lanes.h"
#include "backend/record/now_page.h"
#include "backend/record/op_recorder.h"

namespace spscope {

// Thrown inside a lane to leave it because the run stops. Not an error of this lane.
struct StopLane {};

// Names an op for an error message: "exchange op 17 (sequence 5, lane 1, peer rank 3, 4096 bytes)".
std::string describe_op(const Plan& plan, OpId op);

// -- what a board holds; OpFlags and StopRecord all zero at first

struct OpFlags {
  WaitWord state, takers;
};
// Why the run stops: written once, by whoever is first.
struct StopRecord {
  static constexpr std::size_t kMaxText = 3072;
  std::atomic<std::int32_t> state{0};  // 0 none, 1 being written, 2 there
  std::int32_t code = 0, rank = -1, lane = -1;
  OpId op = kNone;
  char text[kMaxText] = {};
};
// A StopRecord as a value. An interrupt names no rank.
struct StopReason {
  ErrorCode code = ErrorCode::kInternal;
  RankFault fault;
  Error error() const;
};
// What the system says of the processes of ranks, asked when nobody makes progress. Empty functions know nothing.
struct SystemView {
  // Why the rank cannot go on by itself: "its process 12 is stopped by a signal, ..."; "": it can, or nobody knows.
  std::function<std::string(int rank)> why_lost;
  // By rank of the list, whether its process computes now (record/computing.h); nullopt: unknown. May take a moment.
  // Ranks of other nodes count as computing while they report: their own node decides whether they hang.
  std::function<std::vector<std::optional<bool>>(std::span<const int> ranks)> computes;
};
struct ControlBoard {
  std::span<OpFlags> ops;  // by op
  StopRecord* stop = nullptr;
  // By rank, by lane: what each does. `writable`: nullptr where another process writes the line.
  std::vector<const NowLine*> lines;
  std::vector<NowLine*> writable;
  // By rank, by lane: a line with the same content, for processes that cannot map the one of `writable`; nullptr: none.
  // Empty: none at all.
  std::vector<NowLine*> copies;
  std::span<std::atomic<std::int64_t>>
      reported_ns;  // by rank of another node: when its lines were last reported; 0: not yet
  std::vector<std::shared_ptr<const NowPageView>> pages;  // that lines lie in
};

class RunControl {
 public:
  // On a board of its own, for a process that runs all ranks. Lines are those of `recorder` where it has them.
  explicit RunControl(const Plan& plan, OpRecorder* recorder = nullptr);
  RunControl(const Plan& plan, ControlBoard board);

  // For so long lanes look all the time for what they wait for, before they sleep. Before the first repeat.
  void set_spin_ns(std::int64_t spin_ns) { spin_ns_ = spin_ns; }
  // Before a repeat: no op is posted. Not thread-safe; on a shared board, by one of its processes. A reason to stop
  // stays: nothing runs after one.
  void reset();
  // By every process, before its lanes start: what their lines say of the repeat. Not thread-safe.
  void begin_repeat(RunId run, int repeat);

  // -- called by the lane `lane` of `rank`. All but leave() throw StopLane when the run stops.
  // The lane begins an op. Times are raw; 0: nobody reads them.
  void enter(int rank, int lane, OpId op, std::int64_t now_ns);
  // The op goes on: its kernel runs, it has posted and waits for its partners, or all of them have and data moves.
  void turn(int rank, int lane, LaneState state, std::int64_t now_ns);
  // The lane made progress inside its op.
  void beat(int rank, int lane);
  // The op has ended, with it `counts` of events; `last`: of the lane in this repeat.
  void leave(int rank, int lane, const OpRecorder::EventCounts& counts, bool last);
  // `takers`: ranks that will take data from this op's rank before it can end.
  void set_posted(OpId op, int takers = 0);
  void set_ended(OpId op);
  bool has_posted(OpId op) const { return board_.ops[at(op)].state.load() >= kPosted; }
  void set_taken(OpId op) { board_.ops[at(op)].takers.add(-1); }
  void wait_posted(int rank, int lane, OpId op) { reach(rank, lane, op, kPosted); }
  void wait_ended(int rank, int lane, OpId op) { reach(rank, lane, op, kEnded); }
  // Until every taker of the lane's own op has its data.
  void wait_taken(int rank, int lane, OpId op);
  // A lane that waits for something else: for what its own op gets from other nodes. The line then says which rank it
  // waits for: that of `op`; of its own op, the peer of the op; none when another lane of its rank has `op`.
  void begin_wait(int rank, int lane, OpId op);
  void end_wait(int rank, int lane);
  void leave_if_stopping() const {
    if (stopping_.load(std::memory_order_acquire)) throw StopLane();
  }
  // The lane's op, or an op of any lane, failed; the run stops.
  void fail(int rank, int lane, const std::string& reason);
  void fail(OpId op, const std::string& reason);

  // -- called from outside
  // Every lane of this process leaves at its next call into this class; the reason is kept if it is the first one.
  // Thread-safe; may be called again.
  void stop(const StopReason& reason);
  // The same for a reason that stands on the board already.
  void stop();
  const std::atomic<bool>& stopping() const { return stopping_; }
  // Another number whenever a lane on the board made progress; not always a higher one (NowLine::mirror).
  std::int64_t progress() const;
  // The first reason to stop, if there is one; of any process on the board.
  std::optional<StopReason> reason() const;
  // The same once stop() was called. When the process that writes the reason does not finish it within `seconds`,
  // because it was killed meanwhile: the reason for which this process stops. nullopt: stop() was not called.
  std::optional<StopReason> await_reason(double seconds) const;
  // Every lane that is inside an op, and each rank whose process cannot go on, as judge_lanes() orders them: the cause
  // first. Empty: nobody is inside an op or lost.
  std::vector<StuckLane> find_stuck(const SystemView& system = {}) const;
  // Names the first of these, which made no progress for `seconds`, and who waits for it. REQUIRES: `stuck` is not
  // empty.
  RankFault describe_hang(std::span<const StuckLane> stuck, double seconds, const SystemView& system = {}) const;

  // What a lane does; of ranks of other nodes, as last reported.
  const NowLine& line(int rank, int lane) const { return *board_.lines[index_of(rank, lane)]; }
  // By one thread: what a rank of another node reported, and when.
  void mirror(int rank, int lane, const LaneNow& now, std::uint64_t generation, std::int64_t reported_ns);
  void forget(int rank);  // drops what it reported
  std::int64_t reported_ns(int rank) const {
    return board_.reported_ns.empty() ? 0 : board_.reported_ns[at(rank)].load();
  }

 private:
  enum State : std::int32_t { kIdle = 0, kPosted = 1, kEnded = 2 };
  struct OwnBoard;
  // The writing end of a lane of this process.
  struct alignas(64) Writer {
    NowLine* line = nullptr;
    NowLine* copy = nullptr;  // may be nullptr
    LaneNow now;              // as published last
    OpId inside = kNone;      // stays until the next op

    void publish() {
      line->publish(now);
      if (copy != nullptr) copy->publish(now);
    }
    void beat() {
      line->beat();
      if (copy != nullptr) copy->beat();
    }
  };
  // What a line says of an op besides its times.
  struct OpFacts {
    std::int64_t bytes = 0;
    int peer = kNoPeer;
    PostId sequence = 0;
  };
  std::size_t index_of(int rank, int lane) const { return at(rank) * at(plan_.lanes) + at(lane); }
  void prepare();
  // An op that is there already costs two loads; the next turn of the lane shows its progress.
  void reach(int rank, int lane, OpId op, State wanted) {
    leave_if_stopping();
    if (board_.ops[at(op)].state.load() < wanted) wait(rank, lane, op, wanted);
  }
  void wait(int rank, int lane, OpId op, State wanted);
  template <typename Done>
  void wait_until(int rank, int lane, OpId op, WaitWord& word, Done&& done);

  const Plan& plan_;
  std::shared_ptr<OwnBoard> own_;
  ControlBoard board_;
  std::vector<Writer> writers_;  // by rank, by lane
  std::vector<OpFacts> facts_;   // by op
  std::int64_t spin_ns_ = 0;
  std::atomic<bool> stopping_{false};
  mutable std::mutex own_mutex_;
  std::optional<StopReason> own_reason_;  // the first with which this process called stop()
};

}  // namespace spscope
