#include "backend/store/timeline_events.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "backend/base/check.h"

namespace spscope {

namespace {

// Slots of one rank and lane. Taking events by their end and putting each into the slot whose last end is the largest
// that is not after its begin needs the fewest slots.
class Slots {
 public:
  // kMaxSlots when none is free.
  int place(std::int64_t begin_ns, std::int64_t end_ns) {
    int best = -1;
    for (std::size_t slot = 0; slot < last_end_.size(); ++slot)
      if (last_end_[slot] <= begin_ns && (best < 0 || last_end_[slot] > last_end_[static_cast<std::size_t>(best)]))
        best = static_cast<int>(slot);
    if (best < 0 && last_end_.size() == kMaxSlots) return kMaxSlots;
    if (best < 0) {
      best = static_cast<int>(last_end_.size());
      last_end_.push_back(0);
    }
    last_end_[static_cast<std::size_t>(best)] = end_ns;
    return best;
  }

 private:
  std::vector<std::int64_t> last_end_;
};

class TimelineWriter {
 public:
  TimelineWriter(EventWriter& events, RunId run, const Plan& plan, const Timeline& timeline, std::int64_t begin_ns,
                 const RunProvenance& provenance)
      : events_(events), run_(run), plan_(plan), timeline_(timeline), begin_ns_(begin_ns), provenance_(provenance) {}

  void write() {
    std::map<std::pair<int, int>, std::vector<OpId>> ops_of_lane;  // (rank, lane), so that the file is deterministic
    for (std::size_t i = 0; i < plan_.ops.size(); ++i)
      ops_of_lane[{plan_.ops[i].rank, plan_.post_of(plan_.ops[i]).lane}].push_back(static_cast<OpId>(i));
    for (auto& [lane, ops] : ops_of_lane) {
      std::sort(ops.begin(), ops.end(), [&](OpId a, OpId b) { return key(a) < key(b); });
      Slots slots;
      for (OpId op : ops) {
        const int slot = slots.place(times(op).post_ns, times(op).end_ns);
        write_op(op, events_.track(lane.first, lane.second, slot, slot == kMaxSlots));
      }
    }
  }

 private:
  const OpTimes& times(OpId op) const { return timeline_.ops[static_cast<std::size_t>(op)]; }
  std::tuple<std::int64_t, std::int64_t, OpId> key(OpId op) const { return {times(op).end_ns, times(op).post_ns, op}; }

  void write_op(OpId id, TrackId track) {
    const Op& op = plan_.ops[static_cast<std::size_t>(id)];
    const PostKind kind = plan_.kind_of(op);
    const bool moves_data = communicates(kind);
    SpanEvent span;
    span.begin_ns = begin_ns_ + times(id).post_ns;
    span.end_ns = begin_ns_ + times(id).end_ns;
    span.op_id = id;
    span.name = name_of(op);
    span.flags = event_flags(op_category(kind));
    if ((moves_data ? provenance_.network : provenance_.compute) == Source::kModelled) span.flags |= kEventModelled;
    // A copy inside a rank may wait for its data too.
    if (!moves_data && times(id).post_ns == times(id).begin_ns) {
      events_.append(run_, track, std::span<const SpanEvent>(&span, 1));
      return;
    }
    const OpBytes bytes = op_bytes(plan_, op);
    CollectiveEvent event;
    event.span = span;
    event.entry_ns = span.begin_ns;
    event.transfer_begin_ns = begin_ns_ + times(id).begin_ns;
    event.transfer_end_ns = span.end_ns;
    event.sequence = op.post;
    event.bytes = bytes.sent;
    event.communicator = communicator_of(op);
    event.peer = bytes.peer;
    events_.append(run_, track, std::span<const CollectiveEvent>(&event, 1));
  }

  // Names and communicators are made once a post and once a group: on 1,024 ranks each stands for thousands of ops.
  NameId name_of(const Op& op) {
    const auto [it, is_new] = names_.try_emplace(op.post);
    if (is_new) it->second = events_.name(op_name(plan_, op));
    return it->second;
  }
  CommunicatorId communicator_of(const Op& op) {
    const int lane = plan_.post_of(op).lane;
    if (op.group == kNone) return events_.communicator(lane, std::span<const int>(&op.rank, 1));
    const auto [it, is_new] = communicators_.try_emplace({lane, op.group});
    if (is_new) it->second = events_.communicator(lane, plan_.group(op.group));
    return it->second;
  }

  EventWriter& events_;
  RunId run_;
  const Plan& plan_;
  const Timeline& timeline_;
  std::int64_t begin_ns_;
  RunProvenance provenance_;
  std::unordered_map<PostId, NameId> names_;
  std::map<std::pair<int, GroupId>, CommunicatorId> communicators_;
};

}  // namespace

EventCategory op_category(PostKind kind) {
  switch (kind) {
    case PostKind::kAttend:
      return EventCategory::kAttend;
    case PostKind::kLocal:
      return EventCategory::kLocal;
    case PostKind::kMerge:
    case PostKind::kFinish:
    case PostKind::kCopy:
      return EventCategory::kRearrange;
    case PostKind::kBarrier:
      return EventCategory::kBarrier;
    case PostKind::kExchange:
    case PostKind::kPull:
    case PostKind::kPush:
    case PostKind::kReduce:
      return EventCategory::kTransfer;
  }
  return EventCategory::kOther;
}

std::string op_name(const Plan& plan, const Op& op) {
  const Post& post = plan.post_of(op);
  if (post.kind == PostKind::kLocal && post.kernel != kNone)
    return plan.kernels[static_cast<std::size_t>(post.kernel)].name;
  std::string name = post_kind_name(post.kind);
  if ((communicates(post.kind) || post.kind == PostKind::kCopy) && post.src != kNone)
    name += " " + tensor_set_name(plan.values[static_cast<std::size_t>(post.src)].tensors);
  return name;
}

void append_timeline(EventWriter& events, RunId run, const Plan& plan, const Timeline& timeline, std::int64_t begin_ns,
                     const RunProvenance& provenance) {
  SPSCOPE_CHECK(timeline.ops.size() == plan.ops.size());
  for (std::size_t i = 0; i < plan.ops.size(); ++i) {
    const OpTimes& times = timeline.ops[i];
    SPSCOPE_CHECK(0 <= times.post_ns && times.post_ns <= times.begin_ns && times.begin_ns <= times.end_ns);
  }
  TimelineWriter(events, run, plan, timeline, begin_ns, provenance).write();
}

}  // namespace spscope
