#include "backend/analysis/time_edits.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "backend/analysis/intervals.h"
#include "backend/analysis/op_terms.h"
#include "backend/base/ids.h"
#include "backend/config/scaled_cluster.h"
#include "backend/schedule/schedule.h"

namespace spscope {
namespace {

// By TimeEditKind.
constexpr std::array<std::string_view, 6> kEditKeys = {"none",         "evenly_spread", "rank_as_mean",
                                                       "faster_links", "faster_nics",   "no_latency"};

bool between_ranks(const Plan& plan, const Op& op) {
  return std::ranges::any_of(plan.messages_of(op),
                             [&](MessageId id) { return plan.messages[at(id)].src != plan.messages[at(id)].dst; });
}

bool attends(const Plan& plan, std::size_t id) { return plan.kind_of(plan.ops[id]) == PostKind::kAttend; }

std::vector<double> attention_of_ranks(const Plan& plan, const std::vector<std::int64_t>& compute_ns) {
  std::vector<double> of_rank(at(plan.ranks), 0);
  for (std::size_t id = 0; id < plan.ops.size(); ++id)
    if (attends(plan, id)) of_rank[at(plan.ops[id].rank)] += static_cast<double>(compute_ns[id]);
  return of_rank;
}

// Every op of a post takes the mean of the post, so that the ranks of a ring agree in each step, not only in the sum.
void spread_posts(const Plan& plan, std::vector<std::int64_t>& compute_ns) {
  struct Sum {
    std::int64_t ns = 0, ops = 0;
  };
  std::vector<Sum> of_post(plan.posts.size());
  for (std::size_t id = 0; id < plan.ops.size(); ++id)
    if (attends(plan, id)) of_post[at(plan.ops[id].post)].ns += compute_ns[id], ++of_post[at(plan.ops[id].post)].ops;
  for (std::size_t id = 0; id < plan.ops.size(); ++id)
    if (const Sum& sum = of_post[at(plan.ops[id].post)]; attends(plan, id)) compute_ns[id] = sum.ns / sum.ops;
}

// Every rank takes the mean over all ranks, for its attention and for its other compute, and in each post the ops take
// the same part of it.
void spread_over_ranks(const Plan& plan, std::vector<std::int64_t>& compute_ns) {
  for (const bool attention : {true, false}) {
    std::vector<double> of_post(plan.posts.size(), 0), ops(plan.posts.size(), 0), of_rank(at(plan.ranks), 0);
    const auto for_each = [&](auto&& visit) {
      for (std::size_t id = 0; id < plan.ops.size(); ++id)
        if (attends(plan, id) == attention) visit(id, at(plan.ops[id].post), at(plan.ops[id].rank));
    };
    for_each([&](std::size_t id, std::size_t post, std::size_t) {
      of_post[post] += static_cast<double>(compute_ns[id]);
      ++ops[post];
    });
    for_each([&](std::size_t, std::size_t post, std::size_t rank) { of_rank[rank] += of_post[post] / ops[post]; });
    const double mean = std::accumulate(of_rank.begin(), of_rank.end(), 0.0) / plan.ranks;
    for_each([&](std::size_t id, std::size_t post, std::size_t rank) {
      if (of_rank[rank] > 0) compute_ns[id] = std::llround(of_post[post] / ops[post] * mean / of_rank[rank]);
    });
  }
}

// The mean over the ranks that attend, for the rank of the edit or for all of them.
void scale_attention(const Plan& plan, const TimeEdit& edit, std::vector<std::int64_t>& compute_ns) {
  const std::vector<double> was = attention_of_ranks(plan, compute_ns);
  const auto attending = std::ranges::count_if(was, [](double ns) { return ns > 0; });
  if (attending == 0) return;
  const double mean = std::accumulate(was.begin(), was.end(), 0.0) / static_cast<double>(attending);
  if (edit.kind == TimeEditKind::kEvenlySpread) spread_posts(plan, compute_ns);
  const std::vector<double> is = attention_of_ranks(plan, compute_ns);
  for (std::size_t id = 0; id < plan.ops.size(); ++id) {
    const int rank = plan.ops[id].rank;
    const bool edited = edit.kind == TimeEditKind::kEvenlySpread || rank == edit.rank;
    if (edited && is[at(rank)] > 0 && attends(plan, id))
      compute_ns[id] = std::llround(static_cast<double>(compute_ns[id]) * mean / is[at(rank)]);
  }
}

void scale_network(const CauseScales& scales, Network& network) {
  network.free_inside = scales[Cause::kWireInside] == 0;
  network.free_between = scales[Cause::kWireBetween] == 0;
  const double latency = scales[Cause::kLatency];
  const auto scale = [&](std::int64_t& ns) { ns = std::llround(static_cast<double>(ns) * latency); };
  scale(network.intra_latency_ns);
  scale(network.inter_latency_ns);
  for (LinkCurve& curve : network.curves) {
    curve.floor_ns *= latency, curve.t0_ns *= latency, curve.inter_t0_ns *= latency;
  }
  network.compute_slowdown = 1 + (network.compute_slowdown - 1) * scales[Cause::kSlowdown];
  network.pack_ns_per_byte *= scales[Cause::kCopies];
}

Network edited_network(const EditablePasses& stored, const TimeEdit& edit) {
  constexpr double kTwice = 2;
  ClusterFactors factors;
  if (edit.kind == TimeEditKind::kFasterLinks) factors.link = kTwice;
  if (edit.kind == TimeEditKind::kFasterNics) factors.nic = kTwice;
  const ClusterPreset cluster = factors == ClusterFactors{} ? stored.cluster : scaled(stored.cluster, factors);
  Network network =
      Network::of_cluster(cluster, stored.passes.front().plan.ranks, stored.gpus_per_node, stored.ranks_in_use);
  if (edit.kind != TimeEditKind::kNoLatency) return network;
  network.intra_latency_ns = network.inter_latency_ns = 0;
  for (LinkCurve& curve : network.curves) curve.floor_ns = curve.t0_ns = curve.inter_t0_ns = 0;
  return network;
}

}  // namespace

std::vector<std::int64_t> undisturbed_compute(const Plan& plan, const Timeline& timeline, double compute_slowdown) {
  constexpr double kRounding = 1e-6;  // of a nanosecond
  std::vector<std::vector<Interval>> disturbed(at(plan.ranks));
  for (std::size_t id = 0; id < plan.ops.size(); ++id) {
    const Op& op = plan.ops[id];
    if (two_sided(plan.kind_of(op)) && between_ranks(plan, op))
      disturbed[at(op.rank)].push_back({timeline.ops[id].post_ns, timeline.ops[id].end_ns});
  }
  std::vector<Cover> covers;
  for (std::vector<Interval>& of_rank : disturbed) covers.emplace_back(joined(std::move(of_rank)));
  std::vector<std::int64_t> compute_ns(plan.ops.size(), 0);
  for (std::size_t id = 0; id < plan.ops.size(); ++id) {
    const Op& op = plan.ops[id];
    const OpTimes& t = timeline.ops[id];
    if (communicates(plan.kind_of(op))) continue;
    const std::int64_t slow_ns = covers[at(op.rank)].inside(t.begin_ns, t.end_ns), ns = t.end_ns - t.begin_ns;
    // The schedule rounds ends up, so that the whole nanoseconds below are what it was given.
    compute_ns[id] = ns - slow_ns +
                     static_cast<std::int64_t>(std::floor(static_cast<double>(slow_ns) / compute_slowdown + kRounding));
  }
  return compute_ns;
}

std::string time_edit_key(const TimeEdit& edit) { return std::string(kEditKeys[static_cast<std::size_t>(edit.kind)]); }

std::optional<TimeEditKind> find_time_edit(std::string_view key) {
  const auto found = std::ranges::find(kEditKeys, key);
  if (found == kEditKeys.end()) return std::nullopt;
  return static_cast<TimeEditKind>(found - kEditKeys.begin());
}

std::string time_edit_keys() { return fmt::format("{}", fmt::join(kEditKeys, ", ")); }

std::string time_edit_text(const TimeEdit& edit) {
  switch (edit.kind) {
    case TimeEditKind::kNone:
      return "nothing changed";
    case TimeEditKind::kEvenlySpread:
      return "attention evenly spread over ranks";
    case TimeEditKind::kRankAsMean:
      return fmt::format("rank {} attends as long as the mean", edit.rank);
    case TimeEditKind::kFasterLinks:
      return "links inside nodes twice as fast";
    case TimeEditKind::kFasterNics:
      return "links between nodes twice as fast";
    case TimeEditKind::kNoLatency:
      break;
  }
  return "no latency";
}

Rescheduler::Rescheduler(const EditablePasses& stored) : stored_(stored) {
  for (const EditablePasses::Pass& pass : stored.passes) {
    compute_ns_.push_back(undisturbed_compute(pass.plan, pass.timeline, stored.cluster.network.compute_slowdown));
    hosts_.push_back(stored.hosts ? host_times(pass.plan, stored.cluster.cost) : HostTimes{});
  }
}

ScheduledPasses Rescheduler::run(const TimeEdit& edit, const CancelToken* cancelled) const {
  if (stored_.passes.empty()) return {};
  std::vector<std::vector<std::int64_t>> edited_ns;
  if (edit.kind == TimeEditKind::kEvenlySpread || edit.kind == TimeEditKind::kRankAsMean) {
    edited_ns = compute_ns_;
    for (std::size_t i = 0; i < edited_ns.size(); ++i) scale_attention(stored_.passes[i].plan, edit, edited_ns[i]);
  }
  return schedule_with(edited_ns.empty() ? compute_ns_ : edited_ns, hosts_, edited_network(stored_, edit), cancelled);
}

ScheduledPasses Rescheduler::run_scaled(const CauseScales& scales) const {
  if (stored_.passes.empty()) return {};
  std::vector<std::vector<std::int64_t>> compute_ns;
  for (std::size_t i = 0; i < stored_.passes.size(); ++i) compute_ns.push_back(scaled_compute(i, scales));
  std::vector<HostTimes> hosts = hosts_;
  for (HostTimes& host : hosts)
    for (std::vector<std::int64_t>* list : {&host.issue_ns, &host.end_ns})
      for (std::int64_t& ns : *list) ns = std::llround(static_cast<double>(ns) * scales[Cause::kHost]);
  Network network = edited_network(stored_, {});
  scale_network(scales, network);
  return schedule_with(compute_ns, hosts, network, nullptr);
}

std::vector<std::int64_t> Rescheduler::scaled_compute(std::size_t pass, const CauseScales& scales) const {
  const Plan& plan = stored_.passes[pass].plan;
  const TimeModels models = stored_.hosts ? TimeModels{.cost = stored_.cluster.cost} : TimeModels{};
  std::vector<std::int64_t> compute_ns = compute_ns_[pass];
  const bool scaled = std::ranges::any_of(
      time_term_rows(), [&](const TimeTermRow& row) { return is_compute(row.cause) && scales[row.cause] != 1; });
  for (std::size_t id = 0; scaled && id < plan.ops.size(); ++id) {
    if (compute_ns[id] == 0) continue;
    TimeTerms terms;
    add_compute_terms(plan, plan.ops[id], compute_ns[id], models, terms);
    double ns = 0;
    for (std::size_t i = 0; i < terms.ns.size(); ++i)
      ns += static_cast<double>(terms.ns[i]) * (terms.ns[i] > 0 ? scales[time_term_rows()[i].cause] : 1);
    compute_ns[id] = std::llround(ns);
  }
  if (const double differing = scales[Cause::kLateRank]; differing != 1) {
    const std::vector<std::int64_t> was = compute_ns;
    spread_over_ranks(plan, compute_ns);
    for (std::size_t id = 0; id < compute_ns.size(); ++id)
      compute_ns[id] += std::llround(static_cast<double>(was[id] - compute_ns[id]) * differing);
  }
  return compute_ns;
}

TimeTerms Rescheduler::compute_terms() const {
  TimeTerms terms;
  if (stored_.passes.empty()) return terms;
  const TimeModels models = stored_.hosts ? TimeModels{.cost = stored_.cluster.cost} : TimeModels{};
  const Network network = edited_network(stored_, {});
  for (std::size_t i = 0; i < stored_.passes.size(); ++i) {
    const Plan& plan = stored_.passes[i].plan;
    for (std::size_t id = 0; id < plan.ops.size(); ++id) {
      const Op& op = plan.ops[id];
      if (communicates(plan.kind_of(op)))
        terms[TimeTerm::kPacking] +=
            exchange_copy_ns(plan, op, network, &Message::src) + exchange_copy_ns(plan, op, network, &Message::dst);
      else
        add_compute_terms(plan, op, compute_ns_[i][id], models, terms);
    }
  }
  return terms;
}

ScheduledPasses Rescheduler::schedule_with(const std::vector<std::vector<std::int64_t>>& compute_ns,
                                           const std::vector<HostTimes>& hosts, const Network& network,
                                           const CancelToken* cancelled) const {
  std::vector<LayerPass> passes;
  for (std::size_t i = 0; i < stored_.passes.size(); ++i)
    passes.push_back({&stored_.passes[i].plan, compute_ns[i], &hosts[i]});
  return schedule_passes(passes, network, {}, cancelled);
}

}  // namespace spscope
