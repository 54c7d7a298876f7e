// NodeMessages: what ranks of different nodes tell each other about ops while a plan runs. Inside a node ranks see each
// other's flags; between nodes a small message sets the flag.
//
// One thread of each process listens, because Open MPI makes no progress on its own: it answers pulls and takes pushes
// of ranks on other nodes while this process's lanes compute, and reports at times what its lanes do, so that every
// node knows who makes progress and who does not answer. Without other nodes there is no such thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "backend/execute/cpu/buffer_store.h"
#include "backend/execute/lanes/lane_run.h"
#include "backend/execute/lanes/traffic_counter.h"
#include "backend/execute/mpi/mpi_world.h"

namespace spscope::mpi {

class NodeMessages {
 public:
  // Listens until it is destroyed. All arguments outlive it.
  NodeMessages(MpiWorld& world, LaneRun& run, BufferStore& memory, TrafficCounter& counter);
  ~NodeMessages();
  NodeMessages(const NodeMessages&) = delete;

  // Notes of other repeats are dropped from now on, and none of them is being acted upon when this returns. By the
  // caller's thread, while no lane of any process runs.
  void begin_pass(std::int32_t pass);

  // Until what was asked of this process has been given, or the run stops. By the caller's thread, when the ops of all
  // processes have ended.
  void finish_pass();

  // -- by lanes: to a rank of another node
  void tell_posted(OpId op, int rank) { tell(kPosted, op, rank); }
  void tell_ended(OpId op, int rank) { tell(kEnded, op, rank); }
  // The rank sends what the pull reads there, in a message whose tag is the pull's sequence number.
  void ask_for(OpId pull, int rank) { tell(kPull, pull, rank); }
  // The rank takes what the push writes there; the push then has one taker less.
  void announce_push(OpId push, int rank) { tell(kPush, push, rank); }
  // To all nodes: this process knows why the run stops.
  void tell_stop(const StopReason& reason);

  // Why a rank of another node seems lost: nothing was heard of it for long; "" when it was heard of.
  std::string silence(int rank) const;

 private:
  enum Kind : std::int32_t { kPosted, kEnded, kPull, kPush, kTaken, kStop };
  struct Note {
    std::int32_t kind = 0, op = 0, pass = 0;
  };
  struct StopNote {
    std::int32_t code = 0, rank = -1, lane = -1, op = kNone;
    char text[StopRecord::kMaxText] = {};
  };
  // Data of a pull on its way out, or of a push on its way in.
  struct Served {
    OpId op;
    int rank;
    std::vector<std::byte> bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  void tell(Kind kind, OpId op, int rank);
  void report_lanes();
  bool hear_lane_report();
  void listen();
  bool hear_note();
  bool hear_stop();
  void act(const Note& note, int from);
  void serve_pull(OpId op, int from);
  void take_push(OpId op, int from);
  Served& serve(OpId op, int from, bool push);
  bool finish_served();
  void pass_on_stop();
  void end_served(Served& served);

  MpiWorld& world_;
  LaneRun& run_;
  BufferStore& memory_;
  TrafficCounter& counter_;
  std::mutex hearing_;  // held while a note of a repeat is acted upon, and to begin another one
  // One lane in a report.
  struct LaneEntry {
    std::int32_t op = kNone, sequence = 0, waits_for = kNone, peer = kNoPeer, state = 0;
    std::uint64_t generation = 0;
  };
  // What the lanes do, on its way to another node: the pass, then a LaneEntry for each lane.
  struct LaneReport {
    std::vector<std::byte> bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  const std::vector<int> tell_to_;   // a rank of each other node
  std::vector<LaneReport> reports_;  // the last one to each of them
  const std::int64_t report_every_ns_;
  std::int64_t last_report_ns_ = 0;
  std::atomic<std::int64_t> pass_begin_ns_{0};  // 0: none is going on
  std::atomic<std::int32_t> pass_{0};
  std::atomic<bool> leave_{false};
  std::atomic<bool> told_stop_{false};
  std::list<Served> served_;
  std::atomic<int> num_served_{0};  // still on their way
  std::thread thread_;
};

}  // namespace spscope::mpi
