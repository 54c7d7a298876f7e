// Program: the part of a plan that one process runs, made ready for threads: all ranks, or its own ones. It says which
// ops each lane runs, what each waits for, which slots it touches and where the cells of its messages lie. It holds
// neither memory nor kernels: those belong to a device (lanes/device.h).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/execute/program/local_ranks.h"
#include "backend/execute/program/output_gather.h"
#include "backend/execute/program/transfer.h"

namespace spscope {

// One op as its lane sees it.
struct ProgramOp {
  std::vector<OpId> own_dependencies, remote_dependencies;  // of this rank's other lanes; of other ranks
  std::vector<SlotId> opens;                                // slots it writes
  std::vector<SlotId> uses;                                 // slots it touches: one user of each has ended with it
  std::unique_ptr<Transfer> transfer;                       // nullptr: it computes
};

// The ops of one lane of one rank, in post order.
struct ProgramLane {
  int rank = 0, lane = 0;
  std::vector<OpId> ops;
};

class Program {
 public:
  // Keeps a copy of the plan: a run that is stopped may leave a thread behind for a while.
  // Throws Error(kPlanNotHeld) when a rank lacks what it sends or where it receives.
  Program(const Plan& plan, RankView view);
  Program(const Program&) = delete;

  const Plan& plan() const { return plan_; }
  const MemoryLayout& layout() const { return layout_; }
  std::span<const ProgramLane> lanes() const { return lanes_; }
  const RankView& view() const { return view_; }
  // Empty for an op of another process, except a pull or push of a rank that cannot reach the memory of a local one:
  // that has the parts of its transfer which this process must serve.
  const ProgramOp& op(OpId id) const { return ops_[static_cast<std::size_t>(id)]; }
  // Users of each slot of a local rank in one run; inputs count nothing for being there, outputs one for staying.
  std::span<const std::int32_t> users() const { return users_; }
  // Slots of inputs of local ranks that some op reads.
  std::span<const SlotId> given() const { return given_; }
  const OutputGather& outputs() const { return *outputs_; }

 private:
  void prepare_op(OpId id, CellFinder& finder);
  void prepare_served(OpId id, CellFinder& finder);
  void prepare_lanes();
  void prepare_dependencies(const Op& op, ProgramOp& made) const;
  void prepare_transfer(OpId id, CellFinder& finder, ProgramOp& made);
  TransferPart make_part(const Post& post, MessageId id, int rank, CellFinder& finder);
  void use_slots(const Op& op, ProgramOp& made) const;
  void count_users();

  Plan plan_;
  RankView view_;
  MemoryLayout layout_;
  std::vector<ProgramOp> ops_;
  std::vector<ProgramLane> lanes_;
  std::vector<std::int32_t> users_;
  std::vector<SlotId> given_;
  std::vector<std::vector<CellRun>> cells_;  // of messages; spans point into their heap memory
  std::unique_ptr<OutputGather> outputs_;
};

}  // namespace spscope
