#include "backend/execute/mpi/node_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>

#include "backend/base/clock.h"
#include "backend/execute/cpu/copy.h"
#include "backend/execute/mpi/mpi_check.h"

namespace spscope::mpi {
namespace {

constexpr int kOpTag = 1, kStopTag = 2, kReportTag = 3;  // on the communicator of control messages
constexpr double kMaxReportSeconds = 1;                  // between two reports of the lanes of a rank
constexpr int kMaxMissed = 5;                            // reports, until a rank counts as lost

std::int64_t bytes_of(const BufferStore& store, const Transfer& transfer, bool push, int rank) {
  std::int64_t bytes = 0;
  for (const TransferPart& part : transfer.parts)
    if (push ? part.dst == rank : part.src == rank) bytes += packed_bytes(store, push ? part.to : part.from);
  return bytes;
}

// Whether a message no longer uses its memory. The request is freed in any case: MPI goes on with a message that it is
// still sending, and nobody can ask for its end any more.
bool finish_or_abandon(MPI_Request& request) {
  int done = 0;
  MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  if (done == 0) MPI_Request_free(&request);
  return done != 0;
}

// A message that has arrived.
struct Received {
  int from = 0;
  std::vector<std::byte> bytes;
  template <typename T>
  T as() const {
    T value{};
    std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof value));
    return value;
  }
};

// The next control message with this tag, if one has arrived.
std::optional<Received> try_receive(MPI_Comm control, int tag) {
  int there = 0, count = 0;
  MPI_Status status;
  MPI_Message message;
  check(MPI_Improbe(MPI_ANY_SOURCE, tag, control, &there, &message, &status));
  if (there == 0) return std::nullopt;
  check(MPI_Get_count(&status, MPI_BYTE, &count));
  Received received{status.MPI_SOURCE, std::vector<std::byte>(static_cast<std::size_t>(count))};
  check(MPI_Mrecv(received.bytes.data(), count, MPI_BYTE, &message, &status));
  return received;
}

// One rank of each other node.
std::vector<int> find_node_peers(const MpiWorld& world) {
  std::vector<int> ranks;
  std::vector<bool> seen(static_cast<std::size_t>(world.num_nodes()), false);
  seen[static_cast<std::size_t>(world.node_of(world.rank()))] = true;
  for (int rank = 0; rank < world.size(); ++rank)
    if (const auto node = static_cast<std::size_t>(world.node_of(rank)); !seen[node])
      seen[node] = true, ranks.push_back(rank);
  return ranks;
}

}  // namespace

NodeMessages::NodeMessages(MpiWorld& world, LaneRun& run, BufferStore& memory, TrafficCounter& counter)
    : world_(world),
      run_(run),
      memory_(memory),
      counter_(counter),
      node_peers_(find_node_peers(world)),
      reports_(node_peers_.size()),
      report_every_ns_(static_cast<std::int64_t>(
          1e9 * std::min(kMaxReportSeconds, run.options.watchdog_seconds / (2 * kMaxMissed)))) {
  if (world.num_nodes() > 1) thread_ = std::thread([this] { receive_all(); });
}

NodeMessages::~NodeMessages() {
  leave_ = true;
  wake();
  if (thread_.joinable()) thread_.join();
  // After a stop, messages may be pending.
  bool all_finished = true;
  for (LaneReport& report : reports_) all_finished = finish_or_abandon(report.request) && all_finished;
  if (!all_finished) world_.keep(std::make_shared<std::vector<LaneReport>>(std::move(reports_)));
  if (!served_.empty()) world_.keep(std::make_shared<std::list<Served>>(std::move(served_)));
}

void NodeMessages::wake() {
  const std::lock_guard lock(napping_);
  wake_.notify_one();
}

void NodeMessages::begin_epoch(std::int32_t epoch) {
  const std::lock_guard lock(receiving_);
  epoch_ = epoch;
  epoch_begin_ns_ = now_ns();
  wake();
  // Under the lock: a report of the new repeat may come as soon as `epoch_` is set.
  if (world_.rank() == world_.ranks_of_node().front())
    for (int rank = 0; rank < world_.size(); ++rank)
      if (world_.node_of(rank) != world_.node_of(world_.rank())) run_.control->forget(rank);
}

void NodeMessages::finish_epoch() {
  epoch_begin_ns_ = 0;
  for (Patience patience; num_served_ > 0 && !run_.control->stopping();) patience.pause();
}

void NodeMessages::send(Kind kind, OpId op, int rank) {
  const OpMessage message{kind, op, epoch_};
  check(MPI_Send(&message, sizeof message, MPI_BYTE, rank, kOpTag, world_.control()));
}

// Periodically, while a repeat is going on.
void NodeMessages::report_lanes() {
  const std::int64_t now = now_ns();
  if (epoch_begin_ns_ == 0 || now - last_report_ns_ < report_every_ns_) return;
  last_report_ns_ = now;
  const auto lanes = static_cast<std::size_t>(run_.program.plan().lanes);
  const std::int32_t epoch = epoch_;
  std::vector<std::byte> bytes(sizeof epoch + lanes * sizeof(LaneEntry));
  std::memcpy(bytes.data(), &epoch, sizeof epoch);
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    const NowLine& line = run_.control->line(world_.rank(), static_cast<int>(lane));
    const std::uint64_t generation = line.generation();
    const LaneNow state = line.read();
    const LaneEntry entry{
        state.op, state.sequence, state.waits_for, state.peer, static_cast<std::int32_t>(state.state), generation};
    std::memcpy(bytes.data() + sizeof epoch + lane * sizeof entry, &entry, sizeof entry);
  }
  for (std::size_t i = 0; i < node_peers_.size(); ++i) {
    LaneReport& report = reports_[i];
    int done = 0;
    check(MPI_Test(&report.request, &done, MPI_STATUS_IGNORE));
    if (done == 0) continue;  // the last one was not received yet
    report.bytes = bytes;
    check(MPI_Isend(report.bytes.data(), message_count(bytes.size()), MPI_BYTE, node_peers_[i], kReportTag,
                    world_.control(), &report.request));
  }
}

bool NodeMessages::receive_lane_report() {
  const std::optional<Received> received = try_receive(world_.control(), kReportTag);
  if (!received) return false;
  const auto lanes = static_cast<std::size_t>(run_.program.plan().lanes);
  std::int32_t epoch = 0;
  const std::lock_guard lock(receiving_);
  if (received->bytes.size() != sizeof epoch + lanes * sizeof(LaneEntry)) return true;  // late, of another plan
  std::memcpy(&epoch, received->bytes.data(), sizeof epoch);
  if (epoch != epoch_) return true;
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    LaneEntry entry;
    std::memcpy(&entry, received->bytes.data() + sizeof epoch + lane * sizeof entry, sizeof entry);
    const LaneNow now{.state = static_cast<LaneState>(entry.state),
                      .op = entry.op,
                      .sequence = entry.sequence,
                      .peer = entry.peer,
                      .waits_for = entry.waits_for};
    run_.control->mirror(received->from, static_cast<int>(lane), now, entry.generation, now_ns());
  }
  return true;
}

std::string NodeMessages::silence(int rank) const {
  const std::int64_t since_ns = std::max(run_.control->reported_ns(rank), epoch_begin_ns_.load());
  const std::int64_t silent_ns = now_ns() - since_ns;
  if (epoch_begin_ns_ == 0 || silent_ns < kMaxMissed * report_every_ns_) return {};
  const RankPlace& place = world_.place(rank);
  return fmt::format("its process {} on {} was not heard of for {:.1f} s: it is stopped or gone, or cut off", place.pid,
                     place.host, static_cast<double>(silent_ns) * 1e-9);
}

// Sent to one process of each other node, which writes it to the board of the node.
void NodeMessages::send_stop(const StopReason& reason) {
  if (world_.num_nodes() == 1 || stop_sent_.exchange(true)) return;
  // Nobody waits for these to arrive, since a process may be stopped.
  const auto message = std::make_shared<StopMessage>();
  world_.keep(message);
  *message = {static_cast<std::int32_t>(reason.code), reason.fault.rank, reason.fault.lane, reason.fault.op, {}};
  std::strncpy(message->text, reason.fault.message.c_str(), sizeof message->text - 1);
  for (const int rank : node_peers_) {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Isend(message.get(), sizeof *message, MPI_BYTE, rank, kStopTag, world_.control(), &request));
    MPI_Request_free(&request);
  }
}

// Between repeats nobody waits for it, and it is woken when one begins.
void NodeMessages::receive_all() {
  std::optional<Patience> patience(Waiting::kIdles);
  std::int64_t epoch_ns = 0;
  try {
    while (!leave_) {
      forward_stop();
      report_lanes();
      const bool received = receive_op_message() || receive_stop() || receive_lane_report() || finish_served();
      if (received || epoch_begin_ns_ != epoch_ns) {
        epoch_ns = epoch_begin_ns_;
        patience.emplace(epoch_ns != 0 ? world_.timed_waiting() : Waiting::kIdles);
        continue;
      }
      const std::int64_t nap_ns = patience->next_nap_ns();
      if (nap_ns == 0) continue;
      std::unique_lock lock(napping_);
      wake_.wait_for(lock, std::chrono::nanoseconds(nap_ns), [&] { return leave_ || epoch_begin_ns_ != epoch_ns; });
    }
  } catch (const std::exception& error) {  // the main of a thread of the run
    run_.control->stop({ErrorCode::kRankFailed, {world_.rank(), -1, kNone, false, error.what()}});
  }
}

void NodeMessages::forward_stop() {
  if (stop_sent_ || !run_.control->stopping()) return;
  if (const std::optional<StopReason> reason = run_.control->reason()) send_stop(*reason);
}

bool NodeMessages::receive_op_message() {
  const std::optional<Received> received = try_receive(world_.control(), kOpTag);
  if (!received) return false;
  const OpMessage message = received->as<OpMessage>();
  const std::lock_guard lock(receiving_);
  if (message.epoch == epoch_) handle(message, received->from);
  return true;
}

bool NodeMessages::receive_stop() {
  const std::optional<Received> received = try_receive(world_.control(), kStopTag);
  if (!received) return false;
  const StopMessage message = received->as<StopMessage>();
  const auto code = static_cast<ErrorCode>(message.code);
  stop_sent_ = true;
  run_.control->stop({code, {message.rank, message.lane, message.op, code == ErrorCode::kRankHung, message.text}});
  return true;
}

void NodeMessages::handle(const OpMessage& message, int from) {
  switch (static_cast<Kind>(message.kind)) {
    case kPosted:
      run_.control->set_posted(message.op);
      break;
    case kEnded:
      run_.control->set_ended(message.op);
      break;
    case kPull:
      serve_pull(message.op, from);
      break;
    case kPush:
      take_push(message.op, from);
      break;
    case kTaken:
      run_.control->set_taken(message.op);
      break;
  }
}

NodeMessages::Served& NodeMessages::serve(OpId op, int from, bool push) {
  ++num_served_;
  Served& served = served_.emplace_back(Served{op, from, {}, MPI_REQUEST_NULL});
  const Transfer& transfer = *run_.program.op(op).transfer;
  served.bytes.resize(static_cast<std::size_t>(bytes_of(memory_, transfer, push, world_.rank())));
  return served;
}

void NodeMessages::serve_pull(OpId op, int from) {
  const Transfer& transfer = *run_.program.op(op).transfer;
  Served& served = serve(op, from, false);
  std::size_t next = 0;
  for (const TransferPart& part : transfer.parts) {
    if (part.src != world_.rank()) continue;
    const auto size = static_cast<std::size_t>(packed_bytes(memory_, part.from));
    pack_cells(memory_, part.from, std::span(served.bytes).subspan(next, size));
    next += size;
  }
  check(MPI_Isend(served.bytes.data(), message_count(served.bytes.size()), MPI_BYTE, from, transfer.sequence,
                  world_.data(), &served.request));
}

void NodeMessages::take_push(OpId op, int from) {
  Served& served = serve(op, from, true);
  check(MPI_Irecv(served.bytes.data(), message_count(served.bytes.size()), MPI_BYTE, from,
                  run_.program.op(op).transfer->sequence, world_.data(), &served.request));
}

bool NodeMessages::finish_served() {
  for (auto served = served_.begin(); served != served_.end(); ++served) {
    int done = 0;
    check(MPI_Test(&served->request, &done, MPI_STATUS_IGNORE));
    if (done == 0) continue;
    try {
      end_served(*served);
    } catch (const StopLane&) {  // its slots were being opened: the data is not needed, and the stop is to be sent on
      return false;
    }
    served_.erase(served);
    --num_served_;
    return true;
  }
  return false;
}

void NodeMessages::end_served(Served& served) {
  const ProgramOp& op = run_.program.op(served.op);
  const bool push = op.transfer->kind == PostKind::kPush;
  std::size_t next = 0;
  if (push)
    for (SlotId slot : op.opens) memory_.open(slot);
  for (const TransferPart& part : op.transfer->parts) {
    if (!push || part.dst != world_.rank()) continue;
    const auto size = static_cast<std::size_t>(packed_bytes(memory_, part.to));
    unpack_cells(memory_, part.to, std::span(served.bytes).subspan(next, size));
    counter_.moved(part.src, part.dst, static_cast<std::int64_t>(size));
    next += size;
  }
  for (SlotId slot : op.uses) memory_.release(slot);
  if (push) send(kTaken, served.op, served.rank);
}

}  // namespace spscope::mpi
