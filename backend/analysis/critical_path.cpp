#include "backend/analysis/critical_path.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "backend/analysis/op_terms.h"
#include "backend/analysis/partners.h"
#include "backend/base/ids.h"
#include "backend/schedule/cost.h"

namespace spscope {
namespace {

std::vector<OpId> ops_before_on_lane(const Plan& plan) {
  std::vector<OpId> before(plan.ops.size(), kNone), last(at(plan.ranks) * at(plan.lanes), kNone);
  for (OpId id = 0; at(id) < plan.ops.size(); ++id) {
    const Op& op = plan.ops[at(id)];
    before[at(id)] = std::exchange(last[at(op.rank) * at(plan.lanes) + at(plan.post_of(op).lane)], id);
  }
  return before;
}

// What an op came after at its own rank, or of one-sided transfers at another one.
struct Before {
  PathCause cause = PathCause::kStart;
  OpId op = kNone;
};

// How long after the end of `before` an op knows of it.
std::int64_t signal_ns(const Plan& plan, const Network* network, OpId before, OpId id) {
  const int from = plan.ops[at(before)].rank, to = plan.ops[at(id)].rank;
  return network == nullptr || from == to ? 0 : network->latency_ns(from, to);
}

// Of the ops that must end before an op posts, the one of whose end it knew last; of equal ones that on its lane.
Before last_before(const Plan& plan, const std::vector<OpTimes>& times, const Network* network, OpId id, OpId on_lane) {
  Before last;
  if (on_lane != kNone) last = {PathCause::kLaneBefore, on_lane};
  const auto known_ns = [&](OpId before) { return times[at(before)].end_ns + signal_ns(plan, network, before, id); };
  for (const OpId d : plan.deps(plan.ops[at(id)])) {
    if (last.op != kNone && known_ns(d) <= known_ns(last.op)) continue;
    last = {communicates(plan.kind_of(plan.ops[at(d)])) ? PathCause::kTransfer : PathCause::kDependency, d};
  }
  return last;
}

// The partner that posted last, if that was after the op itself; of equal ones that of the lowest rank.
OpId late_partner(const Plan& plan, const std::vector<OpTimes>& times, const Partners& partners, OpId id) {
  OpId late = kNone;
  partners.for_each(id, [&](OpId other) {
    const std::int64_t post_ns = times[at(other)].post_ns, than_ns = times[at(late == kNone ? id : late)].post_ns;
    const bool lower_rank = late != kNone && plan.ops[at(other)].rank < plan.ops[at(late)].rank;
    if (post_ns > than_ns || (post_ns == than_ns && lower_rank)) late = other;
  });
  return late;
}

std::int64_t first_post(const Timeline& timeline) {
  std::int64_t first = INT64_MAX;
  for (const OpTimes& t : timeline.ops) first = std::min(first, t.post_ns);
  return first;
}

// How much later each op may post, begin and end; posts of one number are done together, the last ones first.
class Slack {
 public:
  Slack(const Plan& plan, const Timeline& timeline, std::span<const std::int64_t> issue_ns, const Network* network)
      : plan_(plan),
        times_(timeline.ops),
        issue_ns_(issue_ns),
        network_(network),
        partners_(plan),
        before_(ops_before_on_lane(plan)) {}

  std::vector<std::int64_t> run() {
    std::int64_t end_ns = INT64_MIN;
    for (const OpTimes& t : times_) end_ns = std::max(end_ns, t.end_ns);
    late_end_.assign(times_.size(), end_ns);
    late_begin_.assign(times_.size(), 0);
    std::vector<OpId> order(times_.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](OpId id) { return plan_.ops[at(id)].post; });
    for (std::size_t end = order.size(); end > 0;) {
      std::size_t begin = end;
      while (begin > 0 && plan_.ops[at(order[begin - 1])].post == plan_.ops[at(order[end - 1])].post) --begin;
      add_post({order.begin() + static_cast<std::ptrdiff_t>(begin), order.begin() + static_cast<std::ptrdiff_t>(end)});
      end = begin;
    }
    for (std::size_t i = 0; i < times_.size(); ++i) late_end_[i] -= times_[i].end_ns;
    return std::move(late_end_);
  }

 private:
  // The ops of one post. What comes after them is done. A rank may have several ops in a post of compute, one after the
  // other, and one in a post of communication.
  void add_post(std::span<const OpId> ops) {
    if (!communicates(plan_.kind_of(plan_.ops[at(ops.front())]))) {
      for (std::size_t i = ops.size(); i-- > 0;)
        limit_before(ops[i], late_end_[at(ops[i])] - (times_[at(ops[i])].end_ns - times_[at(ops[i])].post_ns));
      return;
    }
    latest_post_.assign(at(partners_.num_meetings()), INT64_MIN);
    earliest_.assign(at(partners_.num_meetings()), INT64_MAX);
    for (const OpId id : ops)
      if (const int m = partners_.meeting_of(id); m != kNone)
        latest_post_[at(m)] = std::max(latest_post_[at(m)], times_[at(id)].post_ns);
    // The latest time by which all that an op begins with must have posted.
    for (const OpId id : ops) {
      const OpTimes& t = times_[at(id)];
      const int m = partners_.meeting_of(id);
      std::int64_t posted_ns = t.post_ns;
      if (m != kNone)
        posted_ns = latest_post_[at(m)];
      else
        partners_.for_each(id, [&](OpId other) { posted_ns = std::max(posted_ns, times_[at(other)].post_ns); });
      late_begin_[at(id)] = late_end_[at(id)] - (t.end_ns - posted_ns);
      if (m != kNone) earliest_[at(m)] = std::min(earliest_[at(m)], late_begin_[at(id)]);
    }
    for (const OpId id : ops) {
      const int m = partners_.meeting_of(id);
      std::int64_t late_post_ns = m != kNone ? earliest_[at(m)] : late_begin_[at(id)];
      if (m == kNone)
        partners_.for_each(id, [&](OpId other) { late_post_ns = std::min(late_post_ns, late_begin_[at(other)]); });
      limit_before(id, late_post_ns);
    }
  }

  void limit_before(OpId id, std::int64_t late_post_ns) {
    const std::int64_t post_ns = times_[at(id)].post_ns;
    const Before last = last_before(plan_, times_, network_, id, before_[at(id)]);
    if (last.op == kNone) return;
    const bool issued = !issue_ns_.empty() && issue_ns_[at(id)] == post_ns;
    const auto signal = [&](OpId earlier) { return signal_ns(plan_, network_, earlier, id); };
    const std::int64_t limit_ns = late_post_ns - (issued ? 0 : post_ns - times_[at(last.op)].end_ns - signal(last.op));
    const auto limit = [&](OpId earlier) {
      late_end_[at(earlier)] = std::min(late_end_[at(earlier)], limit_ns - signal(earlier));
    };
    for (const OpId d : plan_.deps(plan_.ops[at(id)])) limit(d);
    if (before_[at(id)] != kNone) limit(before_[at(id)]);
  }

  const Plan& plan_;
  const std::vector<OpTimes>& times_;
  std::span<const std::int64_t> issue_ns_;
  const Network* network_;
  Partners partners_;
  std::vector<OpId> before_;
  std::vector<std::int64_t> late_end_, late_begin_;   // by op; late_begin_: of all with which it begins, their posts
  std::vector<std::int64_t> latest_post_, earliest_;  // by meeting
};

}  // namespace

std::string_view path_share_name(PathShare share) {
  static constexpr std::string_view names[] = {"compute", "wire", "idle"};
  return names[static_cast<std::size_t>(share)];
}

std::string_view path_cause_name(PathCause cause) {
  static constexpr std::string_view names[] = {"start", "lane_before", "dependency", "transfer", "late_partner"};
  return names[static_cast<std::size_t>(cause)];
}

std::int64_t CriticalPath::of(PathShare share) const {
  std::int64_t sum = 0;
  for (const PathStep& step : steps)
    if (step.share == share) sum += step.ns();
  return sum;
}

std::int64_t CriticalPath::total_ns() const { return steps.empty() ? 0 : steps.back().end_ns - steps.front().begin_ns; }

CriticalPath critical_path(const Plan& plan, const Timeline& timeline, std::int64_t zero_ns, const Network* network) {
  CriticalPath path;
  const std::vector<OpTimes>& times = timeline.ops;
  if (times.empty()) return path;
  const std::vector<OpId> before = ops_before_on_lane(plan);
  const Partners partners(plan);
  const std::int64_t first_ns = std::min(zero_ns, first_post(timeline));
  OpId id = static_cast<OpId>(std::ranges::max_element(times, {}, &OpTimes::end_ns) - times.begin());
  std::int64_t reached_ns = times[at(id)].end_ns;  // steps from here on are known
  const auto add = [&](OpId op, Before cause, PathShare share, std::int64_t begin_ns) {
    begin_ns = std::clamp(begin_ns, first_ns, reached_ns);
    path.steps.push_back({op, plan.ops[at(op)].rank, cause.cause, cause.op, share, begin_ns, reached_ns});
    reached_ns = begin_ns;
  };
  while (id != kNone) {
    const bool moves_data = communicates(plan.kind_of(plan.ops[at(id)]));
    const OpId late = moves_data ? late_partner(plan, times, partners, id) : kNone;
    const OpId waits = late == kNone ? id : late;  // the op whose post decided
    const Before last = last_before(plan, times, network, waits, before[at(waits)]);
    add(id, late == kNone ? last : Before{PathCause::kLatePartner, late},
        moves_data ? PathShare::kWire : PathShare::kCompute, times[at(id)].begin_ns);
    const std::int64_t ended_ns = last.op == kNone ? first_ns : times[at(last.op)].end_ns;
    if (ended_ns < reached_ns) add(waits, last, PathShare::kIdle, ended_ns);
    id = last.op;
  }
  std::ranges::reverse(path.steps);
  return path;
}

TimeTerms path_terms(const Plan& plan, const Timeline& timeline, const CriticalPath& path, const TimeModels& models,
                     std::int64_t from_ns) {
  TimeTerms terms;
  const bool hosts = models.cost && !host_times(plan, *models.cost).issue_ns.empty();
  const TimeTerm gap = hosts ? TimeTerm::kHost : TimeTerm::kIdle;
  for (const PathStep& step : path.steps) {
    const Op& op = plan.ops[at(step.op)];
    const std::int64_t begin_ns = std::max(step.begin_ns, from_ns), end_ns = std::max(step.end_ns, from_ns);
    if (step.share == PathShare::kIdle) {
      const std::int64_t known_ns =
          step.after == kNone || !models.network
              ? begin_ns
              : std::clamp(step.begin_ns + signal_ns(plan, &*models.network, step.after, step.op), begin_ns, end_ns);
      terms[TimeTerm::kLatency] += known_ns - begin_ns;
      terms[gap] += end_ns - known_ns;
    } else if (step.share == PathShare::kCompute) {
      add_compute_terms(plan, op, end_ns - begin_ns, models, terms);
    } else {
      // Of a transfer that began with a late partner, the partner packs last.
      const OpId packs = step.cause == PathCause::kLatePartner ? step.after : step.op;
      OpTimes times = timeline.ops[at(step.op)];
      times.post_ns = std::max(times.post_ns, timeline.ops[at(packs)].post_ns);
      const TransferPhases phases = transfer_phases(plan, op, times, models);
      const auto part = [&](std::int64_t begin, std::int64_t end) {
        return std::clamp(end, begin_ns, end_ns) - std::clamp(begin, begin_ns, end_ns);
      };
      terms[TimeTerm::kPacking] += part(times.begin_ns, phases.packed_ns) + part(phases.unpacking_ns, times.end_ns);
      terms[TimeTerm::kLatency] += part(phases.packed_ns, phases.flowing_ns);
      terms[phases.wire] += part(phases.flowing_ns, phases.unpacking_ns);
    }
  }
  return terms;
}

std::vector<std::int64_t> op_slack(const Plan& plan, const Timeline& timeline, std::span<const std::int64_t> issue_ns,
                                   const Network* network) {
  return Slack(plan, timeline, issue_ns, network).run();
}

}  // namespace spscope
