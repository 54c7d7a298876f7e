#include "backend/report/judgement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backend/analysis/trust.h"
#include "backend/report/headline.h"

namespace spscope {
namespace {

bool comparable(const StrategyResult& s) {
  return s.legal() && s.makespan_ns && s.verify != "failed" && !oversubscribed(s);
}

// Two significant digits: 347 reads as 350.
std::string rounded(double factor) {
  const double unit = std::pow(10, std::floor(std::log10(factor)) - 1);
  const double value = std::round(factor / unit) * unit;
  return fmt::format("{:.{}f}", value, value < 10 ? 1 : 0);
}

bool within_spread(const StrategyResult& first, const StrategyResult& s) {
  const std::int64_t spread_ns = std::max(first.makespan_spread_ns.value_or(0), s.makespan_spread_ns.value_or(0));
  return *s.makespan_ns - *first.makespan_ns <= spread_ns;
}

bool within_model(const StrategyResult& first, const StrategyResult& s) {
  return static_cast<double>(*s.makespan_ns) < (1 + kModelAccuracy) * static_cast<double>(*first.makespan_ns);
}

template <typename As>
int count_level(const std::vector<const StrategyResult*>& ranked, As&& as_fast) {
  return static_cast<int>(
      std::ranges::count_if(ranked, [&](const StrategyResult* s) { return as_fast(*ranked[0], *s); }));
}

}  // namespace

Judgement judge(const ModeGroup& group) {
  Judgement judgement;
  auto& ranked = judgement.ranked;
  for (const StrategyResult* s : group.strategies) {
    if (!comparable(*s)) continue;
    ranked.push_back(s);
    judgement.foreign = judgement.foreign || foreign_compute(*s, group.of->workload);
    if (judgement.disturbance.empty()) judgement.disturbance = disturbance(*s);
  }
  std::ranges::stable_sort(ranked, {}, [](const StrategyResult* s) { return *s->makespan_ns; });
  if (ranked.size() < 2 || !judgement.disturbance.empty()) return judgement;
  judgement.lead = Lead::kClear;
  if (group.mode != RunMode::kExecute && within_model(*ranked[0], *ranked[1])) {
    judgement.lead = Lead::kTooClose;
    judgement.level = count_level(ranked, within_model);
  } else if (group.mode != RunMode::kSimulate && within_spread(*ranked[0], *ranked[1])) {
    judgement.lead = Lead::kTied;
    judgement.level = count_level(ranked, within_spread);
  }
  return judgement;
}

std::string foreign_compute_note(const ModeGroup& group) {
  double sum = 0;
  int count = 0;
  for (const StrategyResult* s : group.strategies)
    if (foreign_compute(*s, group.of->workload)) sum += std::log(*s->compute_scale), ++count;
  if (count == 0) return "";
  const double scale = std::exp(sum / count);
  const bool slower = scale > 1;
  return fmt::format(
      "compute is this CPU's, about {}x {} than the cost model of {}: communication counts for too {}; run.mode = "
      "\"simulate\" models both",
      rounded(slower ? scale : 1 / scale), slower ? "slower" : "faster", device_name(group.of->workload.cluster),
      slower ? "little" : "much");
}

}  // namespace spscope
