#include "backend/analysis/critical_path.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace spscope {
namespace {

constexpr std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

// The operation before each one on its lane; kNone for the first.
std::vector<OpId> before_on_lane(const Plan& plan) {
  std::vector<OpId> before(plan.ops.size(), kNone);
  std::vector<OpId> last(at(plan.ranks) * at(plan.lanes), kNone);
  for (OpId id = 0; id < static_cast<OpId>(plan.ops.size()); ++id) {
    const Op& op = plan.ops[at(id)];
    OpId& newest = last[at(op.rank) * at(plan.lanes) + at(plan.post_of(op).lane)];
    before[at(id)] = newest;
    newest = id;
  }
  return before;
}

class Walk {
 public:
  Walk(const Plan& plan, const Timeline& timeline)
      : plan_(plan), times_(timeline.ops), partners_(plan), before_(before_on_lane(plan)) {
    for (const OpTimes& t : times_) {
      zero_ = std::min(zero_, t.post_ns);
      end_ = std::max(end_, t.end_ns);
    }
  }

  std::vector<PathStep> steps() {
    OpId op = 0;
    for (OpId id = 0; id < static_cast<OpId>(times_.size()); ++id)
      if (times_[at(id)].end_ns > times_[at(op)].end_ns) op = id;
    reached_ = end_;
    while (op != kNone) op = step_back(op);
    std::ranges::reverse(steps_);
    return std::move(steps_);
  }

  std::vector<std::int64_t> slack() const {
    // Latest ends with the makespan as it is, and latest posts that follow from them; later posts first.
    std::vector<std::int64_t> latest_end(times_.size(), end_), latest_post(times_.size(), end_);
    std::vector<OpId> order(times_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<OpId>(i);
    std::ranges::stable_sort(order, [&](OpId a, OpId b) { return plan_.ops[at(a)].post > plan_.ops[at(b)].post; });
    for (std::size_t first = 0; first < order.size();) {
      std::size_t last = first;
      const PostId post = plan_.ops[at(order[first])].post;
      while (last < order.size() && plan_.ops[at(order[last])].post == post) ++last;
      for (std::size_t i = first; i < last; ++i) {
        const OpId op = order[i];
        std::int64_t begin = std::numeric_limits<std::int64_t>::max();
        for (const OpId p : waits_for_me(op)) {
          const OpTimes& t = times_[at(p)];
          begin = std::min(begin, latest_end[at(p)] - (t.end_ns - t.begin_ns));
        }
        latest_post[at(op)] = begin;
      }
      for (std::size_t i = first; i < last; ++i) {
        const OpId op = order[i];
        for (const OpId before : befores(op))
          latest_end[at(before)] = std::min(latest_end[at(before)], latest_post[at(op)]);
      }
      first = last;
    }
    std::vector<std::int64_t> slack(times_.size());
    for (std::size_t i = 0; i < slack.size(); ++i)
      slack[i] = std::max<std::int64_t>(0, latest_end[i] - times_[i].end_ns);
    return slack;
  }

 private:
  bool transfers(OpId op) const { return communicates(plan_.kind_of(plan_.ops[at(op)])); }

  // Whose transfer cannot begin before this one has posted.
  std::vector<OpId> waits_for_me(OpId op) const {
    return transfers(op) ? partners_.of(op) : std::vector<OpId>{op};
  }

  // What must have ended before the operation is posted.
  std::vector<OpId> befores(OpId op) const {
    const std::span<const OpId> deps = plan_.deps(plan_.ops[at(op)]);
    std::vector<OpId> all(deps.begin(), deps.end());
    if (before_[at(op)] != kNone) all.push_back(before_[at(op)]);
    return all;
  }

  void add(PathKind kind, OpId op, std::int64_t begin_ns, PathLink link) {
    begin_ns = std::clamp(begin_ns, zero_, reached_);
    if (begin_ns == reached_) return;
    steps_.push_back({kind, op, plan_.ops[at(op)].rank, begin_ns, reached_, link});
    reached_ = begin_ns;
  }

  // Adds the operation, whose end is where the path has come, and the gap before it; returns what the path goes on with.
  OpId step_back(OpId op) {
    OpId posted = op;  // whose post it began after
    const OpTimes& t = times_[at(op)];
    const bool transfer = transfers(op);
    if (transfer)
      for (const OpId partner : partners_.of(op))
        if (times_[at(partner)].post_ns > times_[at(posted)].post_ns) posted = partner;
    OpId before = kNone;
    bool own_lane = false;
    for (const OpId candidate : befores(posted)) {
      const std::int64_t end = times_[at(candidate)].end_ns;
      const bool lane = candidate == before_[at(posted)];
      if (before != kNone && (end < times_[at(before)].end_ns || (end == times_[at(before)].end_ns && !lane))) continue;
      before = candidate;
      own_lane = lane;
    }
    const PathLink link = posted != op         ? PathLink::kLatePeer
                          : before == kNone    ? PathLink::kStart
                          : own_lane           ? PathLink::kLane
                                               : PathLink::kDependency;
    add(transfer ? PathKind::kTransfer : PathKind::kCompute, op, t.begin_ns, link);
    const std::int64_t came_from = before == kNone ? zero_ : times_[at(before)].end_ns;
    add(PathKind::kGap, posted, came_from, before == kNone ? PathLink::kStart : own_lane ? PathLink::kLane : PathLink::kDependency);
    return before;
  }

  const Plan& plan_;
  const std::vector<OpTimes>& times_;
  const Partners partners_;
  const std::vector<OpId> before_;
  std::int64_t zero_ = std::numeric_limits<std::int64_t>::max(), end_ = std::numeric_limits<std::int64_t>::min();
  std::int64_t reached_ = 0;
  std::vector<PathStep> steps_;  // the last first
};

}  // namespace

Partners::Partners(const Plan& plan) : plan_(&plan), by_post_(plan.posts.size()) {
  for (OpId id = 0; id < static_cast<OpId>(plan.ops.size()); ++id) {
    const Op& op = plan.ops[at(id)];
    by_post_[at(op.post)].emplace_back(op.rank, id);
  }
  for (auto& ops : by_post_) std::ranges::sort(ops);
}

OpId Partners::op_of(PostId post, int rank) const {
  const auto& ops = by_post_[at(post)];
  const auto found = std::ranges::lower_bound(ops, rank, {}, &std::pair<int, OpId>::first);
  return found != ops.end() && found->first == rank ? found->second : kNone;
}

std::vector<OpId> Partners::of(OpId id) const {
  const Op& op = plan_->ops[at(id)];
  std::vector<OpId> all = {id};
  const PostKind kind = plan_->kind_of(op);
  const auto take = [&](int rank) {
    const OpId other = rank == op.rank ? kNone : op_of(op.post, rank);
    if (other != kNone) all.push_back(other);
  };
  if (kind == PostKind::kReduce || kind == PostKind::kBarrier) {
    for (const int member : plan_->group(op.group)) take(member);
  } else if (kind == PostKind::kExchange) {
    for (const MessageId m : plan_->messages_of(op)) {
      const Message& message = plan_->messages[at(m)];
      take(message.src == op.rank ? message.dst : message.src);
    }
  }
  std::ranges::sort(all);
  const auto repeated = std::ranges::unique(all);
  all.erase(repeated.begin(), repeated.end());
  return all;
}

std::int64_t CriticalPath::total(PathKind kind) const {
  std::int64_t sum = 0;
  for (const PathStep& step : steps)
    if (step.kind == kind) sum += step.end_ns - step.begin_ns;
  return sum;
}

CriticalPath critical_path(const Plan& plan, const Timeline& timeline) {
  if (plan.ops.empty()) return {};
  Walk walk(plan, timeline);
  return {.steps = walk.steps(), .slack_ns = walk.slack()};
}

}  // namespace spscope
