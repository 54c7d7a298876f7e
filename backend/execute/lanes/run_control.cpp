#include "backend/execute/lanes/run_control.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

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
  std::vector<LaneProgress> lanes;
  StopRecord stop;
};

RunControl::RunControl(const Plan& plan) : plan_(plan), own_(std::make_shared<OwnBoard>()) {
  own_->ops = std::vector<OpFlags>(plan.ops.size());
  own_->lanes = std::vector<LaneProgress>(at(plan.ranks) * at(plan.lanes));
  board_ = {own_->ops, own_->lanes, &own_->stop};
}

void RunControl::reset() {
  for (OpFlags& flags : board_.ops) flags.state.store(kIdle), flags.takers.store(0);
  for (LaneProgress& lane : board_.lanes)
    lane.op_plus_1 = 0, lane.waits_for_plus_1 = 0, lane.beats = 0, lane.heard_ns = 0;
}

void RunControl::enter(int rank, int lane, OpId op) {
  leave_if_stopping();
  lane_of(rank, lane).op_plus_1.store(op + 1, std::memory_order_relaxed);
  beat(rank, lane);
}

void RunControl::beat(int rank, int lane) {
  leave_if_stopping();
  lane_of(rank, lane).beats.fetch_add(1, std::memory_order_relaxed);
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
  if (!done(seen)) {
    LaneProgress& state = lane_of(rank, lane);
    state.waits_for_plus_1.store(op + 1, std::memory_order_relaxed);
    for (; !done(seen); seen = word.load()) {
      leave_if_stopping();
      word.wait(seen);
    }
    state.waits_for_plus_1.store(0, std::memory_order_relaxed);
  }
  beat(rank, lane);
}

void RunControl::wait(int rank, int lane, OpId op, State wanted) {
  wait_until(rank, lane, op, board_.ops[at(op)].state, [wanted](std::int32_t seen) { return seen >= wanted; });
}

void RunControl::wait_taken(int rank, int lane, OpId op) {
  wait_until(rank, lane, op, board_.ops[at(op)].takers, [](std::int32_t left) { return left <= 0; });
}

void RunControl::fail(int rank, int lane, const std::string& reason) {
  if (stopping_) return;
  const OpId op = lane_of(rank, lane).op_plus_1 - 1;
  std::string text = op == kNone ? fmt::format("rank {} failed: {}", rank, reason)
                                 : fmt::format("rank {} failed in {}: {}", rank, describe_op(plan_, op), reason);
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
  stop();
}

void RunControl::stop() {
  stopping_.store(true, std::memory_order_seq_cst);
  for (OpFlags& flags : board_.ops) flags.state.wake(), flags.takers.wake();
}

std::int64_t RunControl::progress() const {
  std::int64_t sum = 0;
  for (const LaneProgress& lane : board_.lanes) sum += lane.beats.load(std::memory_order_relaxed);
  return sum;
}

std::optional<StopReason> RunControl::reason() const {
  const StopRecord& record = *board_.stop;
  if (record.state.load(std::memory_order_acquire) != 2) return std::nullopt;
  const auto code = static_cast<ErrorCode>(record.code);
  return StopReason{code, {record.rank, record.lane, record.op, code == ErrorCode::kRankHung, record.text}};
}

Error StopReason::error() const {
  if (code != ErrorCode::kRankFailed) return {code, fault.message};
  return {code, fault.message, "see the message of the rank; all other ranks were stopped"};
}

LanePlace RunControl::place(int rank, int lane) const {
  const LaneProgress& state = lane_of(rank, lane);
  return {state.op_plus_1 - 1, state.waits_for_plus_1 - 1, state.beats};
}

void RunControl::set_place(int rank, int lane, const LanePlace& place, std::int64_t heard_ns) {
  LaneProgress& state = lane_of(rank, lane);
  state.op_plus_1 = place.op + 1;
  state.waits_for_plus_1 = place.waits_for + 1;
  state.beats = place.beats;
  state.heard_ns = heard_ns;
}

// A lane, or a rank that is not inside an op, as a hang is told.
struct RunControl::Stuck {
  int rank, lane;
  OpId op, waits_for;
  std::string why_lost;
};

// First those that cannot go on by themselves, then those that wait for nobody. Of several that wait, the one with the
// lowest post cannot be waiting for the others.
std::vector<RunControl::Stuck> RunControl::find_stuck(const SystemView& system) const {
  std::vector<Stuck> stuck;
  for (int rank = 0; rank < plan_.ranks; ++rank) {
    const std::string why_lost = system.why_lost ? system.why_lost(rank) : "";
    const std::size_t before = stuck.size();
    for (int lane = 0; lane < plan_.lanes; ++lane)
      if (const LanePlace where = place(rank, lane); where.op != kNone)
        stuck.push_back({rank, lane, where.op, where.waits_for, why_lost});
    if (stuck.size() == before && !why_lost.empty()) stuck.push_back({rank, -1, kNone, kNone, why_lost});
  }
  std::ranges::stable_sort(stuck, {}, [&](const Stuck& s) {
    return std::tuple(s.why_lost.empty(), s.waits_for != kNone, s.op == kNone ? 0 : plan_.ops[at(s.op)].post);
  });
  return stuck;
}

RankFault RunControl::describe_hang(double seconds, const SystemView& system) const {
  const std::vector<Stuck> stuck = find_stuck(system);
  if (stuck.empty()) return {};
  const Stuck& first = stuck.front();
  const auto rank_of = [&](OpId op) { return plan_.ops[at(op)].rank; };
  std::string text = fmt::format("rank {} made no progress for {:.1f} s", first.rank, seconds);
  if (first.op != kNone) text += " in " + describe_op(plan_, first.op);
  if (!first.why_lost.empty()) {
    text += ": " + first.why_lost;
  } else if (first.waits_for == kNone) {
    const std::optional<bool> computes = system.computes ? system.computes(first.rank) : std::nullopt;
    if (computes) text += *computes ? ": it computes" : ": it computes nothing, its process sleeps";
  } else if (rank_of(first.waits_for) != first.rank) {
    text += fmt::format(": it waits for rank {}", rank_of(first.waits_for));
  }
  int named = 0;
  for (const Stuck& other : std::span(stuck).subspan(1)) {
    if (other.waits_for == kNone || other.rank == first.rank) continue;
    if (++named > kMaxNamed) continue;
    text += fmt::format("{} rank {} waits {}in {}", named == 1 ? ";" : ",", other.rank,
                        rank_of(other.waits_for) == first.rank ? "for it " : "", describe_op(plan_, other.op));
  }
  if (named > kMaxNamed) text += fmt::format(" and {} more lanes wait", named - kMaxNamed);
  return {first.rank, first.lane, first.op, true, std::move(text)};
}

}  // namespace spscope
