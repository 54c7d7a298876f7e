// MpiCommunicator: messages between ranks that are processes.
//
// Inside a node it works as the thread communicator does: a receiver copies straight from the source's memory, which
// both see, and flags on a board that they share say who has posted, taken and ended. Between nodes every rank packs
// what it has for another one in a post into one message, sent non-blocking once all partners have posted; its tag is
// the sequence number of the post.
#pragma once

#include "backend/execute/cpu/buffer_store.h"
#include "backend/execute/lanes/lane_run.h"
#include "backend/execute/lanes/traffic_counter.h"
#include "backend/execute/mpi/mpi_world.h"
#include "backend/execute/mpi/node_messages.h"
#include "backend/execute/program/partner_ops.h"

namespace spscope::mpi {

class MpiCommunicator final : public Communicator {
 public:
  // `memory` is what the device of the run keeps its slots in; `node_of` sorts the counted bytes. The world, the run
  // and the memory outlive it.
  MpiCommunicator(MpiWorld& world, LaneRun& run, BufferStore& memory, std::function<int(int rank)> node_of);

  void run(const Transfer& transfer, OpTimes& times) override;
  void ended(OpId op) override;
  // What this process counted.
  CountedBytes traffic() const override { return counter_.bytes(); }
  std::vector<std::int64_t> staging_peak_bytes() const override { return counter_.staging_peak_bytes(); }
  void reset() override { counter_.reset(); }
  NodeMessages& node_messages() { return node_messages_; }

 private:
  class FarMessages;
  bool is_near(int rank) const { return world_.node_of(rank) == world_.node_of(world_.rank()); }
  void post(const Transfer& transfer);
  void meet_partners(const Transfer& transfer);
  void exchange(const Transfer& transfer, FarMessages& far);
  void add_up(const Transfer& transfer, FarMessages& far);
  void pull(const Transfer& transfer, FarMessages& far);
  void push(const Transfer& transfer, FarMessages& far);
  void copy_part(const TransferPart& part);
  void take(const Transfer& transfer);

  MpiWorld& world_;
  BufferStore& memory_;
  RunControl& control_;
  PartnerOps partners_;
  TrafficCounter counter_;
  std::vector<std::vector<int>> waiting_;  // by op of this rank: ranks of other nodes with ops that depend on it
  NodeMessages node_messages_;
};

}  // namespace spscope::mpi
