#include "backend/execute/mpi/mpi_communicator.h"

#include <algorithm>

#include "backend/base/clock.h"
#include "backend/base/ids.h"
#include "backend/execute/cpu/copy.h"
#include "backend/execute/cpu/sum_shares.h"
#include "backend/execute/mpi/mpi_check.h"

namespace spscope::mpi {
namespace {

void add_once(std::vector<int>& ranks, int rank) {
  if (std::ranges::find(ranks, rank) == ranks.end()) ranks.push_back(rank);
}

}  // namespace

// The messages of one transfer with ranks of other nodes: one to and one from each. When a lane leaves because the run
// stops, memory of messages that are still on their way is left to them.
class MpiCommunicator::FarMessages {
 public:
  FarMessages(MpiCommunicator& owner, const Transfer& transfer) : owner_(owner), transfer_(transfer) {}
  ~FarMessages() {
    for (auto& message : messages_)
      if (message->request != MPI_REQUEST_NULL) {
        MPI_Request_free(&message->request);
        owner_.world_.keep(std::shared_ptr<Message>(std::move(message)));
      }
  }
  FarMessages(const FarMessages&) = delete;

  std::vector<int> sources() const { return ranks(false); }
  std::vector<int> takers() const { return ranks(true); }
  void receive_from(int rank) { start(rank, false); }
  void send_to(int rank) { start(rank, true); }
  // Until all have come and gone.
  void complete();
  std::span<const std::byte> packed(const TransferPart& part) const;

 private:
  struct Message {
    int rank;
    bool outgoing;
    std::vector<std::byte> bytes;
    std::vector<std::pair<MessageId, std::span<std::byte>>> parts;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  std::vector<int> ranks(bool outgoing) const;
  void start(int rank, bool outgoing);

  MpiCommunicator& owner_;
  const Transfer& transfer_;
  std::vector<std::unique_ptr<Message>> messages_;
};

std::vector<int> MpiCommunicator::FarMessages::ranks(bool outgoing) const {
  std::vector<int> found;
  for (const TransferPart& part : transfer_.parts) {
    const int mine = outgoing ? part.src : part.dst, other = outgoing ? part.dst : part.src;
    if (mine == transfer_.rank && !owner_.is_near(other)) add_once(found, other);
  }
  return found;
}

void MpiCommunicator::FarMessages::start(int rank, bool outgoing) {
  BufferStore& store = owner_.memory_;
  auto message = std::make_unique<Message>(Message{rank, outgoing, {}, {}, MPI_REQUEST_NULL});
  std::size_t size = 0;
  const auto is_of_it = [&](const TransferPart& part) {
    return outgoing ? part.src == transfer_.rank && part.dst == rank : part.dst == transfer_.rank && part.src == rank;
  };
  for (const TransferPart& part : transfer_.parts)
    if (is_of_it(part)) size += static_cast<std::size_t>(packed_bytes(store, outgoing ? part.from : part.to));
  message->bytes.resize(size);
  owner_.counter_.staged(transfer_.rank, static_cast<std::int64_t>(size));
  std::size_t next = 0;
  for (const TransferPart& part : transfer_.parts) {
    if (!is_of_it(part)) continue;
    const auto part_size = static_cast<std::size_t>(packed_bytes(store, outgoing ? part.from : part.to));
    const std::span<std::byte> bytes = std::span(message->bytes).subspan(next, part_size);
    if (outgoing) pack_cells(store, part.from, bytes);
    message->parts.emplace_back(part.message, bytes);
    next += part_size;
  }
  const int count = message_count(size);
  if (outgoing)
    check(MPI_Isend(message->bytes.data(), count, MPI_BYTE, rank, transfer_.sequence, owner_.world_.data(),
                    &message->request));
  else
    check(MPI_Irecv(message->bytes.data(), count, MPI_BYTE, rank, transfer_.sequence, owner_.world_.data(),
                    &message->request));
  messages_.push_back(std::move(message));
}

void MpiCommunicator::FarMessages::complete() {
  if (messages_.empty()) return;
  owner_.control_.begin_wait(transfer_.rank, transfer_.lane, transfer_.op);
  Patience patience(owner_.world_.timed_waiting());
  for (bool all = false; !all;) {
    all = true;
    for (auto& message : messages_) {
      if (message->request == MPI_REQUEST_NULL) continue;
      int done = 0;
      check(MPI_Test(&message->request, &done, MPI_STATUS_IGNORE));
      all = all && done != 0;
      if (done != 0) owner_.control_.beat(transfer_.rank, transfer_.lane);
    }
    if (all) break;
    owner_.control_.leave_if_stopping();
    patience.pause();
  }
  owner_.control_.end_wait(transfer_.rank, transfer_.lane);
}

std::span<const std::byte> MpiCommunicator::FarMessages::packed(const TransferPart& part) const {
  for (const auto& message : messages_)
    for (const auto& [id, bytes] : message->parts)
      if (id == part.message && !message->outgoing) return bytes;
  return {};
}

MpiCommunicator::MpiCommunicator(MpiWorld& world, LaneRun& run, BufferStore& memory,
                                 std::function<int(int rank)> node_of)
    : world_(world),
      memory_(memory),
      control_(*run.control),
      partners_(run.program.plan()),
      counter_(run.program.plan().ranks, std::move(node_of)),
      waiting_(run.program.plan().ops.size()),
      node_messages_(world, run, memory, counter_) {
  const Plan& plan = run.program.plan();
  for (const Op& op : plan.ops)
    for (OpId dependency : plan.deps(op))
      if (plan.ops[at(dependency)].rank == world.rank() && !is_near(op.rank))
        add_once(waiting_[at(dependency)], op.rank);
}

void MpiCommunicator::run(const Transfer& transfer, OpTimes& times) {
  FarMessages far(*this, transfer);
  if (two_sided(transfer.kind)) {
    for (int source : far.sources()) far.receive_from(source);
    post(transfer);
    meet_partners(transfer);
  }
  times.begin_ns = now_ns();
  control_.turn(transfer.rank, transfer.lane, LaneState::kTransferring, times.begin_ns);
  switch (transfer.kind) {
    case PostKind::kExchange:
      exchange(transfer, far);
      break;
    case PostKind::kReduce:
      add_up(transfer, far);
      break;
    case PostKind::kPull:
      pull(transfer, far);
      break;
    case PostKind::kPush:
      push(transfer, far);
      break;
    default:
      break;  // a barrier moves nothing
  }
  control_.wait_taken(transfer.rank, transfer.lane, transfer.op);
  times.end_ns = now_ns();
}

void MpiCommunicator::ended(OpId op) {
  for (int rank : waiting_[at(op)]) node_messages_.send_ended(op, rank);
}

// Ranks of this node take from this rank's memory; what others get is a message of its own.
void MpiCommunicator::post(const Transfer& transfer) {
  std::vector<int> takers;
  for (const TransferPart& part : transfer.parts)
    if (part.src == transfer.rank && part.dst != transfer.rank && is_near(part.dst)) add_once(takers, part.dst);
  control_.set_posted(transfer.op, static_cast<int>(takers.size()));
  for (int partner : transfer.partners)
    if (!is_near(partner)) node_messages_.send_posted(transfer.op, partner);
}

void MpiCommunicator::meet_partners(const Transfer& transfer) {
  for (int partner : transfer.partners)
    control_.wait_posted(transfer.rank, transfer.lane, partners_.at(transfer.sequence, partner));
}

void MpiCommunicator::copy_part(const TransferPart& part) {
  counter_.moved(part.src, part.dst, copy_cells(memory_, part.from, part.to));
}

// Says to every source in this node that its data is here.
void MpiCommunicator::take(const Transfer& transfer) {
  std::vector<int> sources;
  for (const TransferPart& part : transfer.parts)
    if (part.dst == transfer.rank && part.src != transfer.rank && is_near(part.src)) add_once(sources, part.src);
  for (int source : sources) control_.set_taken(partners_.at(transfer.sequence, source));
}

void MpiCommunicator::exchange(const Transfer& transfer, FarMessages& far) {
  for (int taker : far.takers()) far.send_to(taker);
  for (const TransferPart& part : transfer.parts)
    if (part.src == transfer.rank && part.dst == transfer.rank) copy_part(part);
  for (int partner : transfer.partners)
    for (const TransferPart& part : transfer.parts) {
      if (part.dst != transfer.rank || part.src != partner || !is_near(partner)) continue;
      copy_part(part);
      control_.beat(transfer.rank, transfer.lane);
    }
  take(transfer);
  far.complete();
  for (const TransferPart& part : transfer.parts) {
    if (part.dst != transfer.rank || is_near(part.src)) continue;
    const std::span<const std::byte> bytes = far.packed(part);
    unpack_cells(memory_, part.to, bytes);
    counter_.moved(part.src, part.dst, static_cast<std::int64_t>(bytes.size()));
  }
}

void MpiCommunicator::add_up(const Transfer& transfer, FarMessages& far) {
  for (int taker : far.takers()) far.send_to(taker);
  far.complete();
  SumHooks hooks;
  hooks.source_of = [&](const TransferPart& part) { return ShareSource{part.from, far.packed(part)}; };
  hooks.added = [&](const TransferPart& part, std::int64_t num_bytes) {
    counter_.moved(part.src, part.dst, num_bytes);
  };
  hooks.done = [&](std::int64_t staging_bytes) {
    counter_.staged(transfer.rank, staging_bytes);
    control_.beat(transfer.rank, transfer.lane);
  };
  sum_shares(memory_, transfer, hooks);
  take(transfer);
}

void MpiCommunicator::pull(const Transfer& transfer, FarMessages& far) {
  for (int source : far.sources()) {
    far.receive_from(source);
    node_messages_.request_pull(transfer.op, source);
  }
  for (const TransferPart& part : transfer.parts) {
    if (!is_near(part.src)) continue;
    copy_part(part);
    control_.beat(transfer.rank, transfer.lane);
  }
  far.complete();
  for (const TransferPart& part : transfer.parts) {
    if (is_near(part.src)) continue;
    const std::span<const std::byte> bytes = far.packed(part);
    unpack_cells(memory_, part.to, bytes);
    counter_.moved(part.src, part.dst, static_cast<std::int64_t>(bytes.size()));
  }
}

void MpiCommunicator::push(const Transfer& transfer, FarMessages& far) {
  const std::vector<int> takers = far.takers();
  control_.set_posted(transfer.op, static_cast<int>(takers.size()));
  for (int taker : takers) {
    node_messages_.announce_push(transfer.op, taker);
    far.send_to(taker);
  }
  for (const TransferPart& part : transfer.parts) {
    if (!is_near(part.dst)) continue;
    copy_part(part);
    control_.beat(transfer.rank, transfer.lane);
  }
  far.complete();
}

}  // namespace spscope::mpi
