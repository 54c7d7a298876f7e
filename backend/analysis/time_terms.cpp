#include "backend/analysis/time_terms.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <tuple>
#include <utility>

#include "backend/analysis/intervals.h"
#include "backend/analysis/op_terms.h"
#include "backend/base/ids.h"
#include "backend/schedule/cost.h"
#include "backend/store/timeline_events.h"

namespace spscope {
namespace {

// The operations of one rank, in the order in which they take time.
struct RankOps {
  std::vector<OpId> compute, transfers, waits;
};

class Detailed {
 public:
  Detailed(const Plan& plan, const Timeline& timeline, const TimeModels& models)
      : plan_(plan), times_(timeline.ops), models_(models), ranks_(at(plan.ranks)) {
    of_post_.resize(plan.posts.size());
    before_on_lane_.assign(plan.ops.size(), kNone);
    std::vector<OpId> last_on_lane(ranks_.size() * at(plan.lanes), kNone);
    if (models.cost) result_.hosts = !host_times(plan, *models.cost).issue_ns.empty();
    feeds_.assign(plan.ops.size(), kFeedsNothing);
    for (OpId id = 0; at(id) < plan.ops.size(); ++id) {
      const Op& op = plan.ops[at(id)];
      RankOps& rank = ranks_[at(op.rank)];
      if (communicates(plan.kind_of(op))) {
        rank.transfers.push_back(id);
        rank.waits.push_back(id);
      } else {
        rank.compute.push_back(id);
      }
      of_post_[at(op.post)].push_back(id);
      OpId& last = last_on_lane[at(op.rank) * at(plan.lanes) + at(plan.post_of(op).lane)];
      before_on_lane_[at(id)] = std::exchange(last, id);
      if (plan.kind_of(op) != PostKind::kAttend) continue;
      for (const OpId before : plan.deps(op))
        feeds_[at(before)] = std::min(feeds_[at(before)], plan.post_of(op).ring_step);
    }
    for (std::vector<OpId>& ops : of_post_) std::ranges::sort(ops, {}, [&](OpId id) { return plan.ops[at(id)].rank; });
    for (RankOps& rank : ranks_) {
      std::ranges::stable_sort(rank.compute, {}, [&](OpId id) { return times_[at(id)].begin_ns; });
      std::ranges::stable_sort(rank.transfers, {}, [&](OpId id) { return times_[at(id)].begin_ns; });
      std::ranges::stable_sort(rank.waits, {}, [&](OpId id) { return times_[at(id)].post_ns; });
    }
    set_ends();
  }

  PassDetail run(const PassTimes& pass) {
    end_ns_ = std::max(end_ns_, pass.lead_ns);
    for (int rank = 0; rank < plan_.ranks; ++rank) add_rank(rank, pass);
    return std::move(result_);
  }

 private:
  void set_ends() {
    begins_.assign(ranks_.size(), INT64_MAX);
    ends_.assign(ranks_.size(), INT64_MIN);
    for (std::size_t i = 0; i < times_.size(); ++i) {
      std::int64_t &begin = begins_[at(plan_.ops[i].rank)], &end = ends_[at(plan_.ops[i].rank)];
      begin = std::min(begin, times_[i].post_ns);
      end = std::max(end, times_[i].end_ns);
    }
    const auto last = std::ranges::max_element(ends_);
    end_ns_ = *last;
    result_.last_rank = static_cast<int>(last - ends_.begin());
  }

  void add_rank(int rank, const PassTimes& pass) {
    const RankOps& ops = ranks_[at(rank)];
    TimeTerms& terms = result_.by_rank.emplace_back();
    const Cover nothing;
    FirstCome computing(nothing);
    std::vector<Interval> busy;
    for (const OpId id : ops.compute) {
      const OpTimes& t = times_[at(id)];
      add_compute_terms(plan_, plan_.ops[at(id)], computing.take(t.begin_ns, t.end_ns), models_, terms);
      busy.push_back({t.begin_ns, t.end_ns});
    }
    const Cover computed(joined(busy));
    FirstCome moving(computed);
    for (const OpId id : ops.transfers) {
      const OpTimes& t = times_[at(id)];
      add_transfer(plan_.ops[at(id)], t, moving, terms);
      busy.push_back({t.begin_ns, t.end_ns});
    }
    const Cover active(joined(std::move(busy)));
    FirstCome waiting(active);
    for (const OpId id : ops.waits) {
      const OpTimes& t = times_[at(id)];
      const std::int64_t wait_ns = waiting.take(t.post_ns, t.begin_ns);
      terms[TimeTerm::kLatePeer] += wait_ns;
      if (wait_ns > 0)
        result_.waits.push_back({rank, late_rank(id), op_name(plan_, plan_.ops[at(id)]), feeds(id), wait_ns});
    }
    PassDetail::Edges edges;
    edges.has_ops = ends_[at(rank)] != INT64_MIN;
    const std::int64_t begin_ns = std::min(begins_[at(rank)], pass.lead_ns);
    if (edges.has_ops) {
      edges.tail_ns = end_ns_ - ends_[at(rank)];
      edges.early_ns = pass.lead_ns - begin_ns;
    } else {
      edges.tail_ns = pass.makespan_ns;
    }
    result_.edges.push_back(edges);
    terms[TimeTerm::kEndWait] += edges.tail_ns - edges.early_ns;
    if (result_.hosts) add_host(ops, active, begin_ns, terms);
    terms[TimeTerm::kIdle] += pass.makespan_ns - terms.total();
  }

  // Time in which nothing ran or waited for a partner, and an operation after all that comes before it was not issued.
  // `begin_ns`: from when on those that come after nothing could run.
  void add_host(const RankOps& ops, const Cover& active, std::int64_t begin_ns, TimeTerms& terms) const {
    std::vector<Interval> taken = active.list(), held;
    for (const OpId id : ops.waits) taken.push_back({times_[at(id)].post_ns, times_[at(id)].begin_ns});
    for (const std::vector<OpId>* list : {&ops.compute, &ops.waits})
      for (const OpId id : *list) {
        std::int64_t ready_ns = begin_ns;
        const int rank = plan_.ops[at(id)].rank;
        const auto after = [&](OpId earlier) {
          const int other = plan_.ops[at(earlier)].rank;
          const std::int64_t signal_ns =
              models_.network && other != rank ? models_.network->latency_ns(other, rank) : 0;
          ready_ns = std::max(ready_ns, times_[at(earlier)].end_ns + signal_ns);
        };
        for (const OpId earlier : plan_.deps(plan_.ops[at(id)])) after(earlier);
        if (before_on_lane_[at(id)] != kNone) after(before_on_lane_[at(id)]);
        held.push_back({ready_ns, times_[at(id)].post_ns});
      }
    const Cover covered(joined(std::move(taken)));
    for (const Interval& interval : joined(std::move(held)))
      terms[TimeTerm::kHost] += interval.end - interval.begin - covered.inside(interval.begin, interval.end);
  }

  void add_transfer(const Op& op, const OpTimes& t, FirstCome& moving, TimeTerms& terms) const {
    const TransferPhases phases = transfer_phases(plan_, op, t, models_);
    terms[TimeTerm::kPacking] += moving.take(t.begin_ns, phases.packed_ns);
    terms[TimeTerm::kLatency] += moving.take(phases.packed_ns, phases.flowing_ns);
    terms[phases.wire] += moving.take(phases.flowing_ns, phases.unpacking_ns);
    terms[TimeTerm::kPacking] += moving.take(phases.unpacking_ns, t.end_ns);
  }

  // The partner of an op that posted last: of those that it shares messages with, of a reduce or a barrier all of its
  // group; the lower rank of several. The rank itself when none is known.
  int late_rank(OpId id) const {
    const Op& op = plan_.ops[at(id)];
    const std::vector<OpId>& ops = of_post_[at(op.post)];
    int late = op.rank;
    std::int64_t posted_ns = INT64_MIN;
    const auto look = [&](int rank) {
      if (rank == op.rank) return;
      const auto other =
          std::ranges::lower_bound(ops, rank, {}, [&](OpId of_post) { return plan_.ops[at(of_post)].rank; });
      if (other == ops.end() || plan_.ops[at(*other)].rank != rank) return;
      const std::int64_t post_ns = times_[at(*other)].post_ns;
      if (post_ns < posted_ns || (post_ns == posted_ns && rank > late)) return;
      posted_ns = post_ns;
      late = rank;
    };
    const PostKind kind = plan_.kind_of(op);
    if (kind == PostKind::kReduce || kind == PostKind::kBarrier)
      for (const int member : plan_.group(op.group)) look(member);
    for (const MessageId id_of : plan_.messages_of(op)) {
      const Message& m = plan_.messages[at(id_of)];
      look(m.src == op.rank ? m.dst : m.src);
    }
    return late;
  }

  int feeds(OpId id) const { return feeds_[at(id)] == kFeedsNothing ? 0 : feeds_[at(id)]; }

  const Plan& plan_;
  const std::vector<OpTimes>& times_;
  const TimeModels& models_;
  std::vector<RankOps> ranks_;
  static constexpr int kFeedsNothing = INT32_MAX;
  std::vector<std::vector<OpId>> of_post_;   // by rank
  std::vector<int> feeds_;                   // of communication: the first ring step of the attends that need it
  std::vector<OpId> before_on_lane_;         // by op
  std::vector<std::int64_t> begins_, ends_;  // by rank: of its first post, of its last end
  std::int64_t end_ns_ = 0;                  // of the pass
  PassDetail result_;
};

}  // namespace

std::span<const TimeTermRow> time_term_rows() {
  static constexpr TimeTermRow table[] = {
#define TIME_TERM(id, key, column, cause, meaning) {key, TimeColumn::k##column, Cause::k##cause, meaning},
#include "backend/analysis/time_terms.def"
#undef TIME_TERM
  };
  return table;
}

std::string_view cause_name(Cause cause) {
  static constexpr std::string_view names[] = {
#define CAUSE(id, name) name,
#include "backend/analysis/causes.def"
#undef CAUSE
  };
  return names[static_cast<std::size_t>(cause)];
}

bool is_transfer(Cause cause) {
  return cause == Cause::kLatency || cause == Cause::kWireInside || cause == Cause::kWireBetween ||
         cause == Cause::kTransfers;
}

bool is_compute(Cause cause) { return cause <= Cause::kKernels; }
static_assert(static_cast<int>(Cause::kLaunches) == 0 && static_cast<int>(Cause::kKernels) == 5);

std::int64_t TimeTerms::total() const { return std::accumulate(ns.begin(), ns.end(), std::int64_t{0}); }

std::int64_t TimeTerms::of(Cause cause) const {
  if (cause == Cause::kTransfers) return of(Cause::kLatency) + of(Cause::kWireInside) + of(Cause::kWireBetween);
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < ns.size(); ++i)
    if (time_term_rows()[i].cause == cause) sum += ns[i];
  return sum;
}

std::int64_t TimeTerms::of(TimeColumn column) const {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < ns.size(); ++i)
    if (time_term_rows()[i].column == column) sum += ns[i];
  return sum;
}

TimeTerms& TimeTerms::operator+=(const TimeTerms& other) {
  for (std::size_t i = 0; i < ns.size(); ++i) ns[i] += other.ns[i];
  return *this;
}

TimeTerms operator-(TimeTerms a, const TimeTerms& b) {
  for (std::size_t i = 0; i < a.ns.size(); ++i) a.ns[i] -= b.ns[i];
  return a;
}

TimeTerms mean_terms(const TimeTerms& sums, int ranks) {
  TimeTerms means;
  std::int64_t sum = 0, given = 0;
  for (std::size_t i = 0; i < sums.ns.size(); ++i) {
    sum += sums.ns[i];
    means.ns[i] = sum / ranks - given;
    given += means.ns[i];
  }
  return means;
}

TimeDetail time_detail(const Plan& plan, const Timeline& timeline, const TimeModels& models) {
  const PassDetail pass = pass_detail(plan, timeline, models, {timeline.makespan_ns(), 0});
  return joined_detail({&pass, 1});
}

PassDetail pass_detail(const Plan& plan, const Timeline& timeline, const TimeModels& models, const PassTimes& pass) {
  return Detailed(plan, timeline, models).run(pass);
}

TimeDetail joined_detail(std::span<const PassDetail> passes) {
  TimeDetail detail;
  if (passes.empty()) return detail;
  for (std::size_t i = 0; i < passes.size(); ++i) {
    const PassDetail& pass = passes[i];
    for (const TimeTerms& terms : pass.by_rank) detail.rank_sums += terms;
    detail.waits.insert(detail.waits.end(), pass.waits.begin(), pass.waits.end());
    for (std::size_t rank = 0; rank < pass.edges.size(); ++rank) {
      std::int64_t tail_ns = pass.edges[rank].tail_ns;
      const bool goes_on = i + 1 < passes.size() && passes[i + 1].edges[rank].has_ops;
      if (goes_on) tail_ns -= passes[i + 1].edges[rank].early_ns;
      if (tail_ns <= 0) continue;
      if (goes_on && pass.hosts) {
        detail.rank_sums[TimeTerm::kEndWait] -= tail_ns;
        detail.rank_sums[TimeTerm::kHost] += tail_ns;
      } else {
        detail.waits.push_back({static_cast<int>(rank), pass.last_rank, "end", 0, tail_ns});
      }
    }
  }
  detail.waited_for_ns.assign(passes.front().edges.size(), 0);
  for (const RankWait& wait : detail.waits) detail.waited_for_ns[at(wait.late_rank)] += wait.wait_ns;
  detail.waits = joined_waits(std::move(detail.waits));
  return detail;
}

std::vector<RankWait> joined_waits(std::vector<RankWait> waits) {
  const auto place = [](const RankWait& w) { return std::tie(w.collective, w.ring_step, w.rank, w.late_rank); };
  std::ranges::stable_sort(waits, [&](const RankWait& a, const RankWait& b) { return place(a) < place(b); });
  std::size_t n = 0;
  for (RankWait& wait : waits) {
    if (n > 0 && place(waits[n - 1]) == place(wait)) {
      waits[n - 1].wait_ns += wait.wait_ns;
      continue;
    }
    if (&waits[n] != &wait) waits[n] = std::move(wait);
    ++n;
  }
  waits.resize(n);
  std::ranges::stable_sort(waits, std::greater(), &RankWait::wait_ns);
  return waits;
}

}  // namespace spscope
