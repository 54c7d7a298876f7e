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

RunControl::RunControl(const Plan& plan)
    : plan_(plan),
      states_(plan.ops.size()),
      takers_(plan.ops.size()),
      lanes_(static_cast<std::size_t>(plan.ranks) * static_cast<std::size_t>(plan.lanes)) {}

void RunControl::reset() {
  for (auto& state : states_) state.store(kIdle, std::memory_order_relaxed);
  for (auto& takers : takers_) takers.store(0, std::memory_order_relaxed);
  for (Lane& lane : lanes_) lane.op = kNone, lane.waits_for = kNone, lane.beats = 0;
  stopping_ = false;
  failure_.reset();
}

void RunControl::enter(int rank, int lane, OpId op) {
  leave_if_stopping();
  lane_of(rank, lane).op.store(op, std::memory_order_relaxed);
  beat(rank, lane);
}

void RunControl::beat(int rank, int lane) {
  leave_if_stopping();
  lane_of(rank, lane).beats.fetch_add(1, std::memory_order_relaxed);
}

void RunControl::set_posted(OpId op, int takers) {
  std::int32_t nobody = 0;
  takers_[at(op)].compare_exchange_strong(nobody, takers);
  std::int32_t idle = kIdle;
  states_[at(op)].compare_exchange_strong(idle, kPosted);
  states_[at(op)].notify_all();
}

void RunControl::set_ended(OpId op) {
  states_[at(op)].store(kEnded, std::memory_order_release);
  states_[at(op)].notify_all();
}

void RunControl::wait(int rank, int lane, OpId op, State wanted) {
  std::atomic<std::int32_t>& state = states_[at(op)];
  std::int32_t seen = state.load(std::memory_order_acquire);
  if (seen < wanted) {
    lane_of(rank, lane).waits_for.store(op, std::memory_order_relaxed);
    for (; seen < wanted; seen = state.load(std::memory_order_acquire)) {
      leave_if_stopping();
      state.wait(seen, std::memory_order_acquire);
    }
    lane_of(rank, lane).waits_for.store(kNone, std::memory_order_relaxed);
  }
  beat(rank, lane);
}

void RunControl::wait_taken(int rank, int lane, OpId op) {
  std::atomic<std::int32_t>& takers = takers_[at(op)];
  std::int32_t seen = takers.load(std::memory_order_acquire);
  if (seen > 0) {
    lane_of(rank, lane).waits_for.store(op, std::memory_order_relaxed);
    for (; seen > 0; seen = takers.load(std::memory_order_acquire)) {
      leave_if_stopping();
      takers.wait(seen, std::memory_order_acquire);
    }
    lane_of(rank, lane).waits_for.store(kNone, std::memory_order_relaxed);
  }
  beat(rank, lane);
}

void RunControl::fail(int rank, int lane, const std::string& reason) {
  const OpId op = lane_of(rank, lane).op;
  {
    const std::lock_guard lock(mutex_);
    if (failure_ || stopping_) return;
    failure_ = {rank, lane, op, false,
                op == kNone ? fmt::format("rank {} failed: {}", rank, reason)
                            : fmt::format("rank {} failed in {}: {}", rank, describe_op(plan_, op), reason)};
  }
  stop();
}

// The flag is set before the states change, so that a lane which misses the change sees the flag before it waits.
void RunControl::stop() {
  stopping_.store(true, std::memory_order_seq_cst);
  for (auto& state : states_) {
    for (std::int32_t seen = state.load(); seen < kEnded && !state.compare_exchange_weak(seen, kStopped);) continue;
    state.notify_all();
  }
  for (auto& takers : takers_) {
    takers.store(kNobody);
    takers.notify_all();
  }
}

std::int64_t RunControl::progress() const {
  std::int64_t sum = 0;
  for (const Lane& lane : lanes_) sum += lane.beats.load(std::memory_order_relaxed);
  return sum;
}

std::optional<RankFault> RunControl::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

RankFault RunControl::describe_hang(double seconds) const {
  struct Place {
    int rank, lane;
    OpId op, waits_for;
  };
  std::vector<Place> inside;
  for (std::size_t l = 0; l < lanes_.size(); ++l) {
    const Place place{static_cast<int>(l / at(plan_.lanes)), static_cast<int>(l % at(plan_.lanes)), lanes_[l].op,
                      lanes_[l].waits_for};
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
