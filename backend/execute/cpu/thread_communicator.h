// ThreadCommunicator: messages between ranks that are threads of one process.
//
// Each (sequence, rank) has a mailbox. A rank that enters a two-sided transfer puts its Transfer there; a receiver
// finds its message in the mailbox of the source, copies it straight from the source's buffers into its own, and says
// that it has taken it; the source's part ends when all takers have. A rendezvous with one copy was chosen over a
// packed staging buffer with two because memory bandwidth is what ranks in one machine share, and because no real
// device-to-device transfer passes through a staging buffer of the sender. pull and push are plain copies; the plan's
// dependencies are their signals.
#pragma once

#include <atomic>
#include <vector>

#include "backend/execute/cpu/host_memory.h"
#include "backend/execute/lanes/communicator.h"
#include "backend/execute/lanes/run_control.h"
#include "backend/execute/lanes/traffic_counter.h"
#include "backend/execute/program/partner_ops.h"

namespace spscope {

class ThreadCommunicator final : public Communicator {
 public:
  // `ranks_per_node` only sorts the counted bytes; 0: one node.
  ThreadCommunicator(const Plan& plan, const HostMemory& memory, RunControl& control, int ranks_per_node);

  void run(const Transfer& transfer, OpTimes& times) override;
  CountedBytes traffic() const override { return counter_.bytes(); }
  void reset() override;
  std::vector<std::int64_t> staging_peak_bytes() const override { return counter_.staging_peak_bytes(); }

 private:
  OpId mailbox_of(const Transfer& transfer, int rank) const { return partners_.at(transfer.sequence, rank); }
  void meet_partners(const Transfer& transfer);
  void receive(const Transfer& transfer);
  void copy_part(const TransferPart& part, std::span<const CellRun> from);
  void add_up(const Transfer& transfer);
  std::span<const CellRun> source_cells(const Transfer& transfer, const TransferPart& part) const;

  const HostMemory& memory_;
  RunControl& control_;
  PartnerOps partners_;  // an op numbers a mailbox
  std::vector<std::atomic<const Transfer*>> mailboxes_;
  TrafficCounter counter_;
};

}  // namespace spscope
