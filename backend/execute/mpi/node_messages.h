// NodeMessages: control messages about ops between ranks of different nodes while a plan runs. Inside a node ranks read
// each other's flags; between nodes a small message sets the flag.
//
// One thread of each process receives, because Open MPI makes no progress on its own: it answers pulls and takes pushes
// of ranks on other nodes while this process's lanes compute, and reports the state of its lanes periodically, so that
// every node knows who makes progress and who does not answer. Without other nodes there is no such thread.
#pragma once

#include <atomic>
#include <condition_variable>
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
  // Receives until it is destroyed. All arguments outlive it.
  NodeMessages(MpiWorld& world, LaneRun& run, BufferStore& memory, TrafficCounter& counter);
  ~NodeMessages();
  NodeMessages(const NodeMessages&) = delete;

  // A repeat begins, with a number of its own (MpiWorld::next_epoch). Messages of other repeats are dropped from now
  // on, and none of them is being handled when this returns. By the caller's thread, while no lane of any process runs.
  void begin_epoch(std::int32_t epoch);

  // Returns when all pulls and pushes of other nodes have been served, or the run stops. By the caller's thread, when
  // the ops of all processes have ended.
  void finish_epoch();

  // -- by lanes: to a rank of another node
  void send_posted(OpId op, int rank) { send(kPosted, op, rank); }
  void send_ended(OpId op, int rank) { send(kEnded, op, rank); }
  // The rank sends what the pull reads there, in a message whose tag is the pull's sequence number.
  void request_pull(OpId pull, int rank) { send(kPull, pull, rank); }
  // The rank takes what the push writes there; the push then has one taker less.
  void announce_push(OpId push, int rank) { send(kPush, push, rank); }
  // To all nodes: why the run stops.
  void send_stop(const StopReason& reason);

  // Why a rank of another node seems lost: it has sent no report for long; "" when it has.
  std::string silence(int rank) const;

 private:
  enum Kind : std::int32_t { kPosted, kEnded, kPull, kPush, kTaken };
  struct OpMessage {
    std::int32_t kind = 0, op = 0, epoch = 0;
  };
  struct StopMessage {
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
  void send(Kind kind, OpId op, int rank);
  void report_lanes();
  bool receive_lane_report();
  void receive_all();
  void wake();
  bool receive_op_message();
  bool receive_stop();
  void handle(const OpMessage& message, int from);
  void serve_pull(OpId op, int from);
  void take_push(OpId op, int from);
  Served& serve(OpId op, int from, bool push);
  bool finish_served();
  void forward_stop();
  void end_served(Served& served);

  MpiWorld& world_;
  LaneRun& run_;
  BufferStore& memory_;
  TrafficCounter& counter_;
  std::mutex receiving_;  // held while a message of a repeat is handled, and to begin another repeat
  // One lane in a report.
  struct LaneEntry {
    std::int32_t op = kNone, sequence = 0, waits_for = kNone, peer = kNoPeer, state = 0;
    std::uint64_t generation = 0;
  };
  // What the lanes do, on its way to another node: the epoch, then a LaneEntry for each lane.
  struct LaneReport {
    std::vector<std::byte> bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  const std::vector<int> node_peers_;  // a rank of each other node
  std::vector<LaneReport> reports_;    // the last one to each of them
  const std::int64_t report_every_ns_;
  std::int64_t last_report_ns_ = 0;
  std::atomic<std::int64_t> epoch_begin_ns_{0};  // 0: none is going on
  std::atomic<std::int32_t> epoch_{0};
  std::atomic<bool> leave_{false};
  std::mutex napping_;  // of the thread that receives, until wake() or the end of its nap
  std::condition_variable wake_;
  std::atomic<bool> stop_sent_{false};
  std::list<Served> served_;
  std::atomic<int> num_served_{0};  // still on their way
  std::thread thread_;
};

}  // namespace spscope::mpi
