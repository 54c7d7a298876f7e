#include "backend/execute/thread_communicator.h"

#include <algorithm>

#include "backend/base/check.h"
#include "backend/base/clock.h"
#include "backend/execute/copy.h"

namespace spscope {
namespace {

std::uint64_t mailbox_key(PostId sequence, int rank) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(sequence)) << 32 | static_cast<std::uint32_t>(rank);
}

constexpr auto kCounts = std::memory_order_relaxed;

}  // namespace

ThreadCommunicator::ThreadCommunicator(const Plan& plan, const BufferStore& store, RunControl& control,
                                       int ranks_per_node, OpRecorder* recorder)
    : plan_(plan),
      store_(store),
      control_(control),
      ranks_per_node_(ranks_per_node > 0 ? ranks_per_node : plan.ranks),
      recorder_(recorder),
      mailboxes_(plan.ops.size()),
      counters_(static_cast<std::size_t>(plan.ranks)) {
  for (OpId id = 0; id < static_cast<OpId>(plan.ops.size()); ++id) {
    const Op& op = plan.ops[static_cast<std::size_t>(id)];
    if (two_sided(plan.kind_of(op))) op_of_.insert(mailbox_key(op.post, op.rank), id);
  }
}

void ThreadCommunicator::reset() {
  for (auto& mailbox : mailboxes_) mailbox.store(nullptr, std::memory_order_relaxed);
  for (Counters& c : counters_) c.sent = 0, c.received = 0, c.intra = 0, c.inter = 0, c.staging = 0;
}

OpId ThreadCommunicator::mailbox_of(const Transfer& transfer, int rank) const {
  const OpId* op = op_of_.find(mailbox_key(transfer.sequence, rank));
  SPSCOPE_CHECK(op != nullptr);
  return *op;
}

void ThreadCommunicator::run(const Transfer& transfer, OpTimes& times) {
  if (two_sided(transfer.kind)) {
    mailboxes_[static_cast<std::size_t>(transfer.op)].store(&transfer, std::memory_order_relaxed);
    control_.set_posted(transfer.op, transfer.num_takers);
    meet_partners(transfer);
  }
  times.begin_ns = now_ns();
  if (recorder_ != nullptr)
    recorder_->phase(transfer.rank, transfer.lane, transfer.op, OpPhase::kMoving, times.begin_ns);
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
  for (int partner : transfer.partners) {
    if (recorder_ != nullptr) recorder_->waits_for(transfer.rank, transfer.lane, transfer.op, partner);
    control_.wait_posted(transfer.rank, transfer.lane, mailbox_of(transfer, partner));
  }
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
  count(part.src, part.dst, copy_cells(store_, from, part.to));
}

// Shares of the same part are next to each other in the order of messages: the builder lists the sources of a box in
// turn. Parts with equal destination cells belong together.
void ThreadCommunicator::add_up(const Transfer& transfer) {
  std::vector<TransferPart> mine;
  for (const TransferPart& part : transfer.parts)
    if (part.dst == transfer.rank) mine.push_back(part);
  const auto place = [](const TransferPart& part) { return std::pair(part.to.front().buffer, part.to.front().cell); };
  std::ranges::stable_sort(mine, {}, place);
  for (std::size_t first = 0; first < mine.size();) {
    std::size_t last = first + 1;
    while (last < mine.size() && place(mine[last]) == place(mine[first])) ++last;
    add_up_box(transfer, std::span(mine).subspan(first, last - first));
    control_.beat(transfer.rank, transfer.lane);
    first = last;
  }
  for (int partner : transfer.partners)
    if (std::ranges::any_of(mine, [&](const TransferPart& part) { return part.src == partner; }))
      control_.set_taken(mailbox_of(transfer, partner));
}

// Sums in fp32 in the order of messages and rounds once.
void ThreadCommunicator::add_up_box(const Transfer& transfer, std::span<const TransferPart> shares) {
  const std::span<const CellRun> to = shares.front().to;
  const BufferLayout& layout = store_.layout().buffer(to.front().buffer);
  std::vector<float> sum, share;
  for (std::size_t plane = 0; plane < layout.planes.size(); ++plane) {
    const std::int64_t elements = total_cells(to) * layout.planes[plane].width;
    sum.resize(static_cast<std::size_t>(elements)), share.resize(static_cast<std::size_t>(elements));
    for (int entry = 0; entry < layout.batch; ++entry) {
      std::ranges::fill(sum, 0.0f);
      for (const TransferPart& part : shares) {
        load_cells(store_, source_cells(transfer, part), plane, entry, share);
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += share[i];
        count(part.src, part.dst, elements * dtype_bytes(layout.dtype));
      }
      save_cells(store_, to, plane, entry, sum);
    }
  }
  auto& staging = counters_[static_cast<std::size_t>(transfer.rank)].staging;
  const auto bytes = static_cast<std::int64_t>((sum.capacity() + share.capacity()) * sizeof(float));
  for (std::int64_t seen = staging; seen < bytes && !staging.compare_exchange_weak(seen, bytes);) continue;
}

void ThreadCommunicator::count(int src, int dst, std::int64_t num_bytes) {
  if (src == dst) return;
  Counters& source = counters_[static_cast<std::size_t>(src)];
  source.sent.fetch_add(num_bytes, kCounts);
  (src / ranks_per_node_ == dst / ranks_per_node_ ? source.intra : source.inter).fetch_add(num_bytes, kCounts);
  counters_[static_cast<std::size_t>(dst)].received.fetch_add(num_bytes, kCounts);
}

CountedBytes ThreadCommunicator::traffic() const {
  CountedBytes traffic;
  for (const Counters& c : counters_) {
    traffic.sent.push_back(c.sent);
    traffic.received.push_back(c.received);
    traffic.sent_intra_node.push_back(c.intra);
    traffic.sent_inter_node.push_back(c.inter);
  }
  return traffic;
}

std::vector<std::int64_t> ThreadCommunicator::staging_peak_bytes() const {
  std::vector<std::int64_t> peaks;
  for (const Counters& c : counters_) peaks.push_back(c.staging);
  return peaks;
}

}  // namespace spscope
