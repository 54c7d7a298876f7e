#include "backend/execute/cpu/thread_communicator.h"

#include <algorithm>

#include "backend/base/check.h"
#include "backend/base/clock.h"
#include "backend/execute/cpu/copy.h"
#include "backend/execute/cpu/sum_shares.h"

namespace spscope {

ThreadCommunicator::ThreadCommunicator(const Plan& plan, const HostMemory& memory, RunControl& control,
                                       int ranks_per_node)
    : memory_(memory),
      control_(control),
      partners_(plan),
      mailboxes_(plan.ops.size()),
      counter_(plan.ranks, [&](int rank) { return ranks_per_node > 0 ? rank / ranks_per_node : 0; }) {}

void ThreadCommunicator::reset() {
  for (auto& mailbox : mailboxes_) mailbox.store(nullptr, std::memory_order_relaxed);
  counter_.reset();
}

void ThreadCommunicator::run(const Transfer& transfer, OpTimes& times) {
  if (two_sided(transfer.kind)) {
    mailboxes_[static_cast<std::size_t>(transfer.op)].store(&transfer, std::memory_order_relaxed);
    control_.set_posted(transfer.op, transfer.num_takers);
    meet_partners(transfer);
  }
  times.begin_ns = now_ns();
  control_.turn(transfer.rank, transfer.lane, LaneState::kTransferring, times.begin_ns);
  switch (transfer.kind) {
    case PostKind::kExchange:
      receive(transfer);
      break;
    case PostKind::kReduce:
      add_up(transfer);
      break;
    case PostKind::kPull:
    case PostKind::kPush:
      for (const TransferPart& part : transfer.parts) {
        copy_part(part, part.from);
        control_.beat(transfer.rank, transfer.lane);
      }
      break;
    default:
      break;  // a barrier moves nothing
  }
  if (two_sided(transfer.kind)) control_.wait_taken(transfer.rank, transfer.lane, transfer.op);
  times.end_ns = now_ns();
}

void ThreadCommunicator::meet_partners(const Transfer& transfer) {
  for (int partner : transfer.partners)
    control_.wait_posted(transfer.rank, transfer.lane, mailbox_of(transfer, partner));
}

// Where the source of a message has its cells: read from its mailbox, which its posting made visible.
std::span<const CellRun> ThreadCommunicator::source_cells(const Transfer& transfer, const TransferPart& part) const {
  if (part.src == transfer.rank) return part.from;
  const Transfer* source =
      mailboxes_[static_cast<std::size_t>(mailbox_of(transfer, part.src))].load(std::memory_order_relaxed);
  const auto found = std::ranges::lower_bound(source->parts, part.message, {}, &TransferPart::message);
  SPSCOPE_CHECK(found != source->parts.end() && found->message == part.message);
  return found->from;
}

void ThreadCommunicator::receive(const Transfer& transfer) {
  for (const TransferPart& part : transfer.parts)
    if (part.src == transfer.rank && part.dst == transfer.rank) copy_part(part, part.from);
  for (int partner : transfer.partners) {
    bool took = false;
    for (const TransferPart& part : transfer.parts) {
      if (part.dst != transfer.rank || part.src != partner) continue;
      copy_part(part, source_cells(transfer, part));
      control_.beat(transfer.rank, transfer.lane);
      took = true;
    }
    if (took) control_.set_taken(mailbox_of(transfer, partner));
  }
}

void ThreadCommunicator::copy_part(const TransferPart& part, std::span<const CellRun> from) {
  counter_.moved(part.src, part.dst, copy_cells(memory_, from, part.to));
}

void ThreadCommunicator::add_up(const Transfer& transfer) {
  SumHooks hooks;
  hooks.source_of = [&](const TransferPart& part) { return ShareSource{source_cells(transfer, part), {}}; };
  hooks.added = [&](const TransferPart& part, std::int64_t num_bytes) {
    counter_.moved(part.src, part.dst, num_bytes);
  };
  hooks.done = [&](std::int64_t staging_bytes) {
    counter_.staged(transfer.rank, staging_bytes);
    control_.beat(transfer.rank, transfer.lane);
  };
  sum_shares(memory_, transfer, hooks);
  const auto gives = [&](int partner) {
    return std::ranges::any_of(
        transfer.parts, [&](const TransferPart& part) { return part.dst == transfer.rank && part.src == partner; });
  };
  for (int partner : transfer.partners)
    if (gives(partner)) control_.set_taken(mailbox_of(transfer, partner));
}

}  // namespace spscope
