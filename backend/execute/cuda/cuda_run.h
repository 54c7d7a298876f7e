// CudaRun: the GPU ranks of one process, made ready so that a repeat only enqueues.
//
// A lane is a stream. One thread for each device enqueues its ops of a repeat in post order and never waits for one
// (enqueue.h); another follows the words that streams write, and says what lanes do (follow.h).
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "backend/execute/cuda/gpu.h"
#include "backend/execute/cuda/host_mirror.h"
#include "backend/execute/cuda/op_words.h"
#include "backend/execute/cuda/op_work.h"
#include "backend/execute/cuda/peer_copies.h"
#include "backend/execute/lanes/rank_run.h"
#include "backend/execute/lanes/traffic_counter.h"
#include "backend/execute/program/partner_ops.h"

namespace spscope::cuda {

// What memory holds that no op has written: all bits set, NaN in bf16 and in fp32.
inline constexpr unsigned char kPoison = 0xff;
// How long a thread that waits for streams sleeps between two looks.
inline constexpr auto kStreamPollNap = std::chrono::microseconds(50);

// A device that ranks of this process are on, and what the thread that enqueues for it is at.
struct DeviceQueue {
  Gpu* gpu = nullptr;
  std::atomic<OpId> enqueued{kNone};  // the op that is being enqueued; kNone: all are
  // How long the host took to enqueue the repeats after the warm-up, all together.
  std::int64_t enqueue_ns = 0;
};

// One rank of this process on its device.
struct GpuRank {
  int rank = 0;
  DeviceQueue* queue = nullptr;
  Gpu* gpu = nullptr;                          // of the queue
  std::vector<std::unique_ptr<Stream>> lanes;  // by lane; nullptr: the rank has no op there
  std::unique_ptr<DeviceMemory> arena, table;
  std::unique_ptr<HostMirror> inputs, outputs;
};

// Copies of one message part.
struct PartCopies {
  int src = 0, dst = 0;
  std::vector<PeerCopy> copies;
};

// What an op of this process enqueues.
struct CudaOp {
  int rank = 0, lane = 0;
  OpWork work;                    // when it computes
  std::vector<PartCopies> parts;  // when it moves data; of an exchange, what its rank receives
  std::vector<OpId> senders,
      takers;                 // of an exchange: ops of other ranks that it has data from, that have data from it
  std::vector<SlotId> opens;  // slots whose bytes are theirs from its start on
  OpId previous = kNone;      // of its lane
  // `moves`: all partners had posted. `taken` has no time; only streams of the same device wait for it.
  std::unique_ptr<Event> posted, moves, taken, ended;
};

struct CudaRun : RankRun {
  // Makes ready what needs no device. Throws Error(kPlanNotHeld).
  CudaRun(const Plan& plan, const Request& request, const ExecuteOptions& chosen, const RankView& view);

  // Before the first repeat, in this order. Rank r is on device device_of(r), of those that the driver has. Throw Error
  // that names the rank.
  void take_devices(const std::function<int(int rank)>& device_of);
  // The words, in memory of this process.
  void make_words();
  // The arena of a rank in another process. On the device of the rank of this one.
  void open_arena(int rank, const CUipcMemHandle& handle);
  // REQUIRES: arenas of all ranks that local ones exchange data with are set.
  void make_ops(const Activations& activations, const std::function<int(int rank)>& node_of);

  // Before a repeat: inputs are where the plan has them, bytes are counted anew, clocks are started. Throws Error.
  void start_repeat();
  // What a rank of this process holds of the outputs (OutputGather). Throws Error.
  std::vector<float> read_outputs(int rank);
  // By rank: what is in use at one time, and what the device holds beside it, gaps in the arena and tables.
  std::vector<std::int64_t> peak_bytes() const;
  std::vector<std::int64_t> staging_peak_bytes() const;
  std::vector<std::int64_t> host_post_ns() const;  // as ExecuteResult has it; 0 of ranks of other processes

  GpuRank& rank_of(int rank) { return ranks[static_cast<std::size_t>(rank - program.view().local.first)]; }
  CUstream stream_of(const CudaOp& op) { return rank_of(op.rank).lanes[static_cast<std::size_t>(op.lane)]->get(); }
  bool is_local(OpId op) const { return program.view().has(program.plan().ops[static_cast<std::size_t>(op)].rank); }
  // Whether both ops are on one device, so that the streams of one may wait for events of the other.
  bool is_beside(OpId a, OpId b) {
    return is_local(b) &&
           rank_of(ops[static_cast<std::size_t>(a)].rank).queue == rank_of(ops[static_cast<std::size_t>(b)].rank).queue;
  }
  // Whether all that an op of this process waits for at its rank has ended, and it is enqueued.
  bool has_posted(OpId op);

  DeviceSlots slots;
  PartnerOps partners;
  std::vector<OpPlan> plans;                         // of compute ops of local ranks, until make_ops()
  std::vector<std::unique_ptr<DeviceQueue>> queues;  // one for each device that is used
  std::vector<GpuRank> ranks;                        // of this process
  std::vector<std::unique_ptr<IpcMemory>> opened;    // arenas of other processes
  std::unique_ptr<HostMemory> own_words;
  OpWords words;
  std::vector<CudaOp> ops;               // by op; empty for those of other processes
  std::vector<std::vector<OpId>> posts;  // by post: ops of this process
  std::unique_ptr<TrafficCounter> traffic;
  std::uint32_t epoch = 0;  // of the repeat, from 1

 private:
  DeviceQueue& queue_of(int device);
  OpId first_op(const DeviceQueue& queue);
  bool is_enqueued(OpId id);
  void make_op(OpId id, LaunchTable& table);
  void make_copies(OpId id, CudaOp& made);
  void make_table(GpuRank& rank);
};

}  // namespace spscope::cuda
