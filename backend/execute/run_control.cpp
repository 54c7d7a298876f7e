#include "backend/execute/run_control.h"

#include <fmt/format.h>

#include <algorithm>

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
  std::vector<LaneState> lanes;
  StopRecord stop;
};

RunControl::RunControl(const Plan& plan) : plan_(plan), own_(std::make_shared<OwnBoard>()) {
  own_->ops = std::vector<OpFlags>(plan.ops.size());
  own_->lanes = std::vector<LaneState>(at(plan.ranks) * at(plan.lanes));
  board_ = {own_->ops, own_->lanes, &own_->stop};
}

void RunControl::reset() {
  for (OpFlags& flags : board_.ops) flags.state.store(kIdle), flags.takers.store(0);
  for (LaneState& lane : board_.lanes) lane.op_plus_1 = 0, lane.waits_for_plus_1 = 0, lane.beats = 0;
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
    LaneState& state = lane_of(rank, lane);
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
  for (const LaneState& lane : board_.lanes) sum += lane.beats.load(std::memory_order_relaxed);
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

RankFault RunControl::describe_hang(double seconds) const {
  struct Place {
    int rank, lane;
    OpId op, waits_for;
  };
  std::vector<Place> inside;
  for (std::size_t l = 0; l < board_.lanes.size(); ++l) {
    const LaneState& lane = board_.lanes[l];
    const Place place{static_cast<int>(l / at(plan_.lanes)), static_cast<int>(l % at(plan_.lanes)), lane.op_plus_1 - 1,
                      lane.waits_for_plus_1 - 1};
    if (place.op != kNone) inside.push_back(place);
  }
  if (inside.empty()) return {-1, -1, kNone, true, fmt::format("no rank made progress for {:.1f} s", seconds)};
  const auto first = std::ranges::min_element(
      inside, {}, [&](const Place& p) { return std::pair(p.waits_for != kNone, plan_.ops[at(p.op)].post); });
  std::string text =
      fmt::format("rank {} made no progress for {:.1f} s in {}", first->rank, seconds, describe_op(plan_, first->op));
  int named = 0;
  for (const Place& place : inside) {
    if (place.waits_for == kNone || &place == &*first) continue;
    if (++named > kMaxNamed) continue;
    text += fmt::format("{} rank {} waits in {}", named == 1 ? ";" : ",", place.rank, describe_op(plan_, place.op));
  }
  if (named > kMaxNamed) text += fmt::format(" and {} more lanes wait", named - kMaxNamed);
  return {first->rank, first->lane, first->op, true, std::move(text)};
}

}  // namespace spscope
