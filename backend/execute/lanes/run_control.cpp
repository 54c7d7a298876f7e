#include "backend/execute/lanes/run_control.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "backend/plan/op_bytes.h"

namespace spscope {
namespace {

constexpr int kMaxNamed = 4;  // ranks named in one message

// Ranks with which an op has messages; of a barrier, its group.
std::vector<int> peers_of(const Plan& plan, const Op& op) {
  std::vector<int> peers;
  for (MessageId id : plan.messages_of(op)) {
    const Message& m = plan.messages[static_cast<std::size_t>(id)];
    for (int rank : {m.src, m.dst})
      if (rank != op.rank) peers.push_back(rank);
  }
  if (plan.kind_of(op) == PostKind::kBarrier)
    for (int rank : plan.group(op.group))
      if (rank != op.rank) peers.push_back(rank);
  std::ranges::sort(peers);
  peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
  return peers;
}

std::string rank_list(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size() && i < kMaxNamed; ++i)
    text += fmt::format("{}{}", i > 0 ? ", " : "", ranks[i]);
  if (ranks.size() > kMaxNamed) text += fmt::format(" and {} more", ranks.size() - kMaxNamed);
  return text;
}

// Asks about the ranks whose lanes could go on by themselves: of those that wait it does not matter.
void find_computing(const SystemView& system, std::vector<StuckLane>& stuck) {
  if (!system.computes) return;
  std::vector<int> ranks;
  for (const StuckLane& lane : stuck)
    if (lane.process == ProcessState::kRuns && !waits(lane.now) && (ranks.empty() || ranks.back() != lane.rank))
      ranks.push_back(lane.rank);
  if (ranks.empty()) return;
  const std::vector<std::optional<bool>> computes = system.computes(ranks);
  for (StuckLane& lane : stuck)
    if (const auto found = std::ranges::find(ranks, lane.rank); found != ranks.end())
      lane.computes = computes[static_cast<std::size_t>(found - ranks.begin())];
}

}  // namespace

std::string describe_op(const Plan& plan, OpId id) {
  const Op& op = plan.ops[static_cast<std::size_t>(id)];
  const Post& post = plan.post_of(op);
  std::string text = fmt::format("{} op {} (sequence {}, lane {}", post_kind_name(post.kind), id, op.post, post.lane);
  std::int64_t bytes = 0;
  for (MessageId m : plan.messages_of(op)) bytes += plan.messages[static_cast<std::size_t>(m)].bytes;
  if (const std::vector<int> peers = peers_of(plan, op); !peers.empty())
    text += fmt::format(", peer {}, {} bytes", rank_list(peers), bytes);
  return text + ")";
}

struct RunControl::OwnBoard {
  std::vector<OpFlags> ops;
  std::vector<NowLine> lines;
  StopRecord stop;
};

RunControl::RunControl(const Plan& plan, OpRecorder* recorder) : plan_(plan), own_(std::make_shared<OwnBoard>()) {
  own_->ops = std::vector<OpFlags>(plan.ops.size());
  own_->lines = std::vector<NowLine>(at(plan.ranks) * at(plan.lanes));
  board_.ops = own_->ops;
  board_.stop = &own_->stop;
  for (int rank = 0; rank < plan.ranks; ++rank)
    for (int lane = 0; lane < plan.lanes; ++lane) {
      NowLine* line = recorder != nullptr ? recorder->line(rank, lane) : nullptr;
      if (line == nullptr) line = &own_->lines[index_of(rank, lane)], line->publish(LaneNow());
      board_.lines.push_back(line);
      board_.writable.push_back(line);
    }
  prepare();
}

RunControl::RunControl(const Plan& plan, ControlBoard board) : plan_(plan), board_(std::move(board)) { prepare(); }

void RunControl::prepare() {
  writers_ = std::vector<Writer>(board_.writable.size());
  for (std::size_t i = 0; i < writers_.size(); ++i)
    if (writers_[i].line = board_.writable[i]; writers_[i].line != nullptr) writers_[i].now = writers_[i].line->read();
  for (std::size_t i = 0; i < board_.copies.size(); ++i) writers_[i].copy = board_.copies[i];
  for (const Op& op : plan_.ops) {
    const bool moves = communicates(plan_.kind_of(op));
    const OpBytes bytes = op_bytes(plan_, op);
    facts_.push_back({bytes.sent, !moves ? kNoPeer : bytes.peer >= 0 ? bytes.peer : kSeveralPeers, op.post});
  }
}

void RunControl::reset() {
  for (OpFlags& flags : board_.ops) flags.state.store(kIdle), flags.takers.store(0);
}

void RunControl::begin_repeat(RunId run, int repeat) {
  for (Writer& writer : writers_) writer.now.run = run, writer.now.repeat = repeat;
}

void RunControl::enter(int rank, int lane, OpId op, std::int64_t now_ns) {
  leave_if_stopping();
  Writer& writer = writers_[index_of(rank, lane)];
  writer.inside = op;
  LaneNow& now = writer.now;
  now.state = LaneState::kWaitingForOp;
  now.op = op;
  now.sequence = facts_[at(op)].sequence;
  now.peer = facts_[at(op)].peer;
  now.bytes = facts_[at(op)].bytes;
  now.begin_ns = now_ns;
  now.waits_for = kNone;
  writer.publish();
}

void RunControl::turn(int rank, int lane, LaneState state, std::int64_t now_ns) {
  leave_if_stopping();
  Writer& writer = writers_[index_of(rank, lane)];
  writer.now.state = state;
  if (state != LaneState::kTransferring) writer.now.begin_ns = now_ns;  // where the op's event begins
  writer.publish();
}

void RunControl::beat(int rank, int lane) {
  leave_if_stopping();
  writers_[index_of(rank, lane)].beat();
}

void RunControl::leave(int rank, int lane, const OpRecorder::EventCounts& counts, bool last) {
  Writer& writer = writers_[index_of(rank, lane)];
  writer.now.op = kNone;
  writer.now.state = last ? LaneState::kEndedRepeat : LaneState::kIdle;
  writer.now.sent = counts.sent;
  writer.now.dropped = counts.dropped;
  writer.publish();
}

// The takers are there before anybody can see that the op is posted.
void RunControl::set_posted(OpId op, int takers) {
  board_.ops[at(op)].takers.replace(0, takers);
  board_.ops[at(op)].state.replace(kIdle, kPosted);
}

void RunControl::set_ended(OpId op) { board_.ops[at(op)].state.store(kEnded); }

template <typename Done>
void RunControl::wait_until(int rank, int lane, OpId op, WaitWord& word, Done&& done) {
  std::int32_t seen = word.load();
  if (done(seen)) return leave_if_stopping();
  begin_wait(rank, lane, op);
  for (std::int64_t spin_ns = spin_ns_; !done(seen); seen = word.load(), spin_ns = 0) {
    leave_if_stopping();
    word.wait(seen, spin_ns);
  }
  end_wait(rank, lane);
}

void RunControl::begin_wait(int rank, int lane, OpId op) {
  leave_if_stopping();
  Writer& writer = writers_[index_of(rank, lane)];
  writer.now.waits_for = op;
  if (op != writer.inside) writer.now.peer = plan_.ops[at(op)].rank == rank ? kNoPeer : plan_.ops[at(op)].rank;
  writer.publish();
}

void RunControl::end_wait(int rank, int lane) {
  leave_if_stopping();
  Writer& writer = writers_[index_of(rank, lane)];
  writer.now.waits_for = kNone;
  writer.now.peer = facts_[at(writer.inside)].peer;
  writer.publish();
}

void RunControl::wait(int rank, int lane, OpId op, State wanted) {
  wait_until(rank, lane, op, board_.ops[at(op)].state, [wanted](std::int32_t seen) { return seen >= wanted; });
}

void RunControl::wait_taken(int rank, int lane, OpId op) {
  wait_until(rank, lane, op, board_.ops[at(op)].takers, [](std::int32_t left) { return left <= 0; });
}

void RunControl::fail(int rank, int lane, const std::string& reason) {
  const OpId op = writers_[index_of(rank, lane)].inside;
  if (op != kNone) return fail(op, reason);
  if (stopping_) return;
  stop({ErrorCode::kRankFailed, {rank, lane, op, false, fmt::format("rank {} failed: {}", rank, reason)}});
}

void RunControl::fail(OpId op, const std::string& reason) {
  if (stopping_) return;
  const int rank = plan_.ops[at(op)].rank, lane = plan_.post_of(plan_.ops[at(op)]).lane;
  std::string text = fmt::format("rank {} failed in {}: {}", rank, describe_op(plan_, op), reason);
  stop({ErrorCode::kRankFailed, {rank, lane, op, false, std::move(text)}});
}

void RunControl::stop(const StopReason& reason) {
  StopRecord& record = *board_.stop;
  std::int32_t none = 0;
  if (record.state.compare_exchange_strong(none, 1)) {
    const std::string& text = reason.fault.message;
    const std::size_t length = std::min(text.size(), StopRecord::kMaxText - 1);
    std::copy_n(text.data(), length, record.text);
    record.text[length] = 0;
    record.code = static_cast<std::int32_t>(reason.code);
    record.rank = reason.fault.rank;
    record.lane = reason.fault.lane;
    record.op = reason.fault.op;
    record.state.store(2, std::memory_order_release);
  }
  {
    const std::lock_guard lock(own_mutex_);
    if (!own_reason_) own_reason_ = reason;
  }
  stop();
}

void RunControl::stop() {
  stopping_.store(true, std::memory_order_seq_cst);
  for (OpFlags& flags : board_.ops) flags.state.wake(), flags.takers.wake();
}

std::int64_t RunControl::progress() const {
  std::uint64_t sum = 0;
  for (const NowLine* line : board_.lines) sum += line->generation();
  return static_cast<std::int64_t>(sum);
}

std::optional<StopReason> RunControl::reason() const {
  const StopRecord& record = *board_.stop;
  if (record.state.load(std::memory_order_acquire) != 2) return std::nullopt;
  const auto code = static_cast<ErrorCode>(record.code);
  return StopReason{code, {record.rank, record.lane, record.op, code == ErrorCode::kRankHung, record.text}};
}

std::optional<StopReason> RunControl::await_reason(double seconds) const {
  if (!stopping_) return std::nullopt;
  constexpr auto kPoll = std::chrono::milliseconds(1);
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  for (;;) {
    if (std::optional<StopReason> found = reason()) return found;
    if (std::chrono::steady_clock::now() >= end) break;
    std::this_thread::sleep_for(kPoll);
  }
  const std::lock_guard lock(own_mutex_);
  return own_reason_;
}

Error StopReason::error() const {
  if (code != ErrorCode::kRankFailed) return {code, fault.message};
  return {code, fault.message, "see the message of the rank; all other ranks were stopped"};
}

void RunControl::mirror(int rank, int lane, const LaneNow& now, std::uint64_t generation, std::int64_t reported_ns) {
  board_.writable[index_of(rank, lane)]->mirror(now, generation);
  if (!board_.reported_ns.empty()) board_.reported_ns[at(rank)] = reported_ns;
}

void RunControl::forget(int rank) {
  for (int lane = 0; lane < plan_.lanes; ++lane) board_.writable[index_of(rank, lane)]->publish(LaneNow());
  if (!board_.reported_ns.empty()) board_.reported_ns[at(rank)] = 0;
}

std::vector<StuckLane> RunControl::find_stuck(const SystemView& system) const {
  std::vector<StuckLane> stuck;
  for (int rank = 0; rank < plan_.ranks; ++rank) {
    const bool lost = system.why_lost && !system.why_lost(rank).empty();
    StuckLane lane{.rank = rank, .process = lost ? ProcessState::kStopped : ProcessState::kRuns};
    const std::size_t before = stuck.size();
    for (lane.lane = 0; lane.lane < plan_.lanes; ++lane.lane) {
      lane.now = line(rank, lane.lane).read();
      if (lane.now.inside_op()) stuck.push_back(lane);
    }
    if (stuck.size() == before && lost) stuck.push_back({.rank = rank, .process = ProcessState::kStopped});
  }
  find_computing(system, stuck);
  judge_lanes(stuck);
  return stuck;
}

RankFault RunControl::describe_hang(std::span<const StuckLane> stuck, double seconds, const SystemView& system) const {
  const StuckLane& first = stuck.front();
  const OpId op = first.now.op;
  const auto rank_of = [&](OpId awaited) { return plan_.ops[at(awaited)].rank; };
  std::string text = fmt::format("rank {} made no progress for {:.1f} s", first.rank, seconds);
  if (op != kNone) text += " in " + describe_op(plan_, op);
  if (first.trouble == RankTrouble::kStopped) {
    text += ": " + system.why_lost(first.rank);
  } else if (first.now.waits_for == kNone) {
    if (first.computes == false) text += ": it computes nothing, its process sleeps";
  } else if (rank_of(first.now.waits_for) != first.rank) {
    text += fmt::format(": it waits for rank {}", rank_of(first.now.waits_for));
  }
  int named = 0;
  for (const StuckLane& other : stuck.subspan(1)) {
    if (other.now.waits_for == kNone || other.rank == first.rank) continue;
    if (++named > kMaxNamed) continue;
    text += fmt::format("{} rank {} waits {}in {}", named == 1 ? ";" : ",", other.rank,
                        rank_of(other.now.waits_for) == first.rank ? "for it " : "", describe_op(plan_, other.now.op));
  }
  if (named > kMaxNamed) text += fmt::format(" and {} more lanes wait", named - kMaxNamed);
  return {first.rank, first.lane, op, true, std::move(text)};
}

}  // namespace spscope
