#include "backend/analysis/judgement.h"

#include <algorithm>
#include <map>

#include "backend/analysis/equal_plans.h"
#include "backend/analysis/trust.h"

namespace spscope {
namespace {

bool can_be_judged(const StrategyResult& s) {
  return s.legal() && s.makespan_ns && s.verify != "failed" && !oversubscribed(s);
}

bool within_spread(const StrategyResult& first, const StrategyResult& s) {
  const std::int64_t spread_ns = std::max(first.makespan_spread_ns.value_or(0), s.makespan_spread_ns.value_or(0));
  return *s.makespan_ns - *first.makespan_ns <= spread_ns;
}

// Within this share of it.
bool within_share(std::int64_t time_ns, std::int64_t least_ns, double share, double rest_ns = 0) {
  return static_cast<double>(time_ns) + rest_ns < (1 + share) * (static_cast<double>(least_ns) + rest_ns);
}

template <typename As>
int count_level(const std::vector<const StrategyResult*>& ranked, As&& as_fast) {
  return static_cast<int>(
      std::ranges::count_if(ranked, [&](const StrategyResult* s) { return as_fast(*ranked[0], *s); }));
}

// Of the strategies whose plan equals that of the fastest, the first in strategies.def. So ulysses stands for snake,
// which makes the same plan of equal heads: ulysses was measured.
const StrategyResult& usual_of(const std::vector<const StrategyResult*>& ranked) {
  const StrategyResult* usual = ranked.front();
  for (const StrategyResult* s : ranked)
    if (equal_plans(*ranked.front(), *s) && s < usual) usual = s;
  return *usual;
}

using RangeEnd = std::optional<std::int64_t> StrategyResult::*;

// The fastest at one end of the range; one that no range concerns has its time at both.
const StrategyResult* fastest_at(const std::vector<const StrategyResult*>& ranked, RangeEnd end) {
  return *std::ranges::min_element(ranked, {},
                                   [end](const StrategyResult* s) { return (s->*end).value_or(*s->makespan_ns); });
}

void add_range(Judgement& judgement) {
  const auto& ranked = judgement.ranked;
  if (std::ranges::none_of(ranked, [](const StrategyResult* s) { return s->makespan_low_ns.has_value(); })) return;
  judgement.at_low = fastest_at(ranked, &StrategyResult::makespan_low_ns);
  judgement.at_high = fastest_at(ranked, &StrategyResult::makespan_high_ns);
  const bool holds = judgement.at_low == ranked.front() && judgement.at_high == ranked.front();
  if (judgement.lead == Lead::kClear && !holds) judgement.lead = Lead::kDepends;
}

}  // namespace

std::string_view lead_name(Lead lead) {
  static constexpr std::string_view names[] = {"unknown", "tied", "too close", "clear", "depends"};
  return names[static_cast<std::size_t>(lead)];
}

std::optional<Reason> Judgement::reason(const StrategyResult& strategy) const {
  if (lead == Lead::kUnknown || &strategy == ranked.front()) return std::nullopt;
  if (std::ranges::find(ranked, &strategy) == ranked.end() || !slower(strategy)) return std::nullopt;
  if (lead == Lead::kDepends && (&strategy == at_low || &strategy == at_high)) return std::nullopt;
  return reason_for(strategy, *ranked.front());
}

bool Judgement::slower(const StrategyResult& strategy) const {
  const StrategyResult& first = *ranked.front();
  if (error) return !too_close(*strategy.makespan_ns, *first.makespan_ns, strategy.by_layer.size());
  if (first.makespan_spread_ns || strategy.makespan_spread_ns) return !within_spread(first, strategy);
  return !within_share(*strategy.makespan_ns, *first.makespan_ns, kLargestSpread);
}

bool Judgement::too_close(std::int64_t time_ns, std::int64_t least_ns, std::size_t passes) const {
  return within_share(time_ns, least_ns, error->median, rest_ns * static_cast<double>(passes));
}

void set_attributions(Comparison& comparison) {
  for (const ModeGroup& group : by_mode(comparison)) {
    const Judgement judgement = judge(group);
    if (judgement.lead == Lead::kUnknown) continue;
    std::map<const StrategyResult*, Without> without;
    for (const StrategyResult* s : judgement.ranked) without.try_emplace(s, s->probes);
    for (StrategyResult& s : comparison.strategies) {
      const auto end = std::ranges::find(judgement.ranked, &s);
      for (auto faster = judgement.ranked.begin(); end != judgement.ranked.end() && faster != end; ++faster)
        if (auto found = attribute(s, **faster, without.at(&s), without.at(*faster)))
          s.attributions.push_back(*std::move(found));
    }
  }
}

Judgement judge(const ModeGroup& group) {
  Judgement judgement;
  const Comparison& comparison = *group.of;
  auto& ranked = judgement.ranked;
  for (const StrategyResult* s : group.strategies) {
    if (!s->legal() && !s->pick) judgement.refused.push_back(s);
    if (!can_be_judged(*s)) continue;
    ranked.push_back(s);
    judgement.foreign = judgement.foreign || foreign_compute(*s, comparison.workload);
    if (judgement.disturbance.empty()) judgement.disturbance = disturbance(*s);
  }
  judgement.empty_masks = comparison.workload.density == 0.0;
  std::ranges::stable_sort(ranked, {}, [](const StrategyResult* s) { return *s->makespan_ns; });
  if (ranked.size() < 2 || judgement.empty_masks || !judgement.disturbance.empty()) return judgement;
  judgement.lead = Lead::kClear;
  if (group.mode != RunMode::kExecute) {
    const MachineKind kind = machine_kind(comparison.workload, comparison.cluster);
    const Workload& workload = comparison.workload;
    judgement.error = ratio_error(kind, workload.ranks * workload.guidance * workload.data_parallel);
    judgement.rest_ns = comparison.cluster ? comparison.cluster->rest_of_layer_ns : 0;
    judgement.of_layers = judgement.rest_ns > 0 || workload.scope == "layer";
    const auto other = std::ranges::find_if(
        ranked, [&](const StrategyResult* s) { return s != ranked[0] && !equal_plans(*ranked[0], *s); });
    if (other != ranked.end()) {
      judgement.unmeasured = why_unmeasured(comparison.workload, kind, usual_of(ranked), **other);
      judgement.assumed_moves = assumed_moves(usual_of(ranked), **other);
    }
  }
  const auto as_modelled = [&](const StrategyResult& first, const StrategyResult& s) {
    return judgement.too_close(*s.makespan_ns, *first.makespan_ns, s.by_layer.size());
  };
  if (judgement.error && as_modelled(*ranked[0], *ranked[1])) {
    judgement.lead = Lead::kTooClose;
    judgement.level = count_level(ranked, as_modelled);
  } else if (group.mode != RunMode::kSimulate && within_spread(*ranked[0], *ranked[1])) {
    judgement.lead = Lead::kTied;
    judgement.level = count_level(ranked, within_spread);
  }
  add_range(judgement);
  return judgement;
}

}  // namespace spscope
