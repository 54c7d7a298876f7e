#include "backend/collect/run_recorder.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "backend/base/clock.h"
#include "backend/store/timeline_events.h"

namespace spscope {

RunRecorder::RunRecorder(ShardWriter& shard, NowPageWriter& page, int first_rank, int ranks, int lanes)
    : shard_(shard), page_(page), first_rank_(first_rank), ranks_(ranks), page_lanes_(lanes) {}

// Makes room for the lanes of the plan, and rings for those that have none yet.
void RunRecorder::open_lanes(const Plan& plan) {
  if (plan.lanes > plan_lanes_) {
    std::vector<Lane> wider(static_cast<std::size_t>(ranks_) * static_cast<std::size_t>(plan.lanes));
    for (int rank = 0; rank < ranks_; ++rank)
      for (int lane = 0; lane < plan.lanes; ++lane) {
        Lane& to = wider[static_cast<std::size_t>(rank) * static_cast<std::size_t>(plan.lanes) +
                         static_cast<std::size_t>(lane)];
        if (lane < plan_lanes_) to = lane_of(first_rank_ + rank, lane);
      }
    lanes_ = std::move(wider);
    plan_lanes_ = plan.lanes;
  }
  for (Lane& lane : lanes_) lane.ops = 0;
  for (const Op& op : plan.ops)
    if (is_mine(op)) ++lane_of(op.rank, plan.post_of(op).lane).ops;
  const std::size_t capacity = ranks_ == 1 ? kRecords : std::max(kLeastRecords, kRecords / lanes_.size());
  for (int rank = first_rank_; rank < first_rank_ + ranks_; ++rank)
    for (int lane = 0; lane < plan_lanes_; ++lane)
      if (Lane& opened = lane_of(rank, lane); opened.ring == nullptr && opened.ops > 0)
        opened.ring = &shard_.ring({.rank = rank, .lane = lane}, capacity);
}

int RunRecorder::least_events_of_op() const {
  int sum = 1;
  for (const Collector* const collector : collectors_) sum += collector->least_events_of_op();
  return sum;
}

void RunRecorder::prepare(RunId run, const Plan& plan) {
  run_ = run;
  open_lanes(plan);
  facts_.assign(plan.ops.size(), {});
  std::unordered_map<PostId, NameId> names;
  std::map<std::pair<int, GroupId>, CommunicatorId> communicators;
  for (std::size_t id = 0; id < plan.ops.size(); ++id) {
    const Op& op = plan.ops[id];
    if (!is_mine(op)) continue;
    OpFacts& facts = facts_[id];
    const auto [name, is_new] = names.try_emplace(op.post);
    if (is_new) name->second = shard_.name(op_name(plan, op));
    const OpBytes bytes = op_bytes(plan, op);
    const int lane = plan.post_of(op).lane;
    const bool alone = op.group == kNone;
    const auto [communicator, is_new_group] = communicators.try_emplace({lane, alone ? -1 - op.rank : op.group});
    if (is_new_group)
      communicator->second =
          shard_.communicator(lane, alone ? std::span<const int>(&op.rank, 1) : plan.group(op.group));
    facts.name = name->second;
    facts.flags = event_flags(op_category(plan.kind_of(op)));
    facts.bytes = bytes.sent;
    facts.sequence = op.post;
    facts.communicator = communicator->second;
    facts.peer = bytes.peer;
    facts.moves_data = communicates(plan.kind_of(op));
  }
  shard_.checkpoint();  // names are there before the first event
  dropped_before_ = dropped();
}

std::int64_t RunRecorder::dropped() const {
  std::int64_t sum = 0;
  for (const Lane& lane : lanes_) sum += lane.ring != nullptr ? lane.ring->dropped() : 0;
  return sum;
}

bool RunRecorder::complete() const { return !shard_.failure() && dropped() == dropped_before_; }

void RunRecorder::begin_repeat(int repeat) noexcept {
  repeat_ = repeat;
  repeat_begin_ns_ = now_ns();
}

void RunRecorder::end_repeat() noexcept {
  if (repeat_ < 0) return;
  const std::int64_t end_ns = now_ns();
  shard_.write([&](StoreWriter& store) {
    store.add_rank_repeat({run_, repeat_, first_rank_, repeat_begin_ns_, end_ns, ranks_});
  });
}

void RunRecorder::fault(const RankFault& fault) noexcept {
  incidents_.push_back({fault.rank, fault.lane, fault.op, run_,
                        fault.hung ? IncidentKind::kHung : IncidentKind::kFailed, fault.message});
}

NowLine* RunRecorder::line(int rank, int lane) noexcept {
  const bool has_line = first_rank_ <= rank && rank < first_rank_ + ranks_ && lane < page_lanes_;
  return has_line ? &page_.line(rank, lane) : nullptr;
}

// Of a warm-up no op has an event that work could belong to.
void RunRecorder::launching(int rank, int /*lane*/, OpId op) noexcept {
  if (repeat_ < 0) return;
  for (Collector* const collector : collectors_) collector->begin_launch(rank, run_, op);
}

void RunRecorder::launched() noexcept {
  if (repeat_ < 0) return;
  for (Collector* const collector : collectors_) collector->end_launch();
}

OpRecorder::EventCounts RunRecorder::ended(int rank, int lane, OpId op, const OpTimes& times) noexcept {
  EventRing& ring = *lane_of(rank, lane).ring;
  if (repeat_ >= 0) {
    const OpFacts& facts = facts_[static_cast<std::size_t>(op)];
    RingRecord record;
    record.span = {times.post_ns, times.end_ns, op, facts.name, facts.flags};
    record.run = run_;
    if (facts.moves_data) {
      record.kind = RingKind::kCollective;
      record.transfer_begin_ns = times.begin_ns;
      record.sequence = facts.sequence;
      record.bytes = facts.bytes;
      record.communicator = facts.communicator;
      record.peer = facts.peer;
    }
    ring.push(record);
    for (Collector* const collector : collectors_) collector->op_ended(rank, lane, record);
  }
  return {ring.sent(), ring.dropped()};
}

void RunRecorder::publish_counts() {
  for (const ShardWriter::TrackCount& count : shard_.counts()) {
    if (count.track.kind != TrackKind::kRankLane) continue;
    NowLine* const line = this->line(*count.track.rank, *count.track.lane);
    if (line == nullptr) continue;
    LaneNow now = line->read();
    now.sent = count.sent;
    now.dropped = count.dropped;
    line->publish(now);
  }
}

}  // namespace spscope
