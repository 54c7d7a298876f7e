#include "gui/views/timeline/band_words.h"

#include <algorithm>

#include "backend/analysis/judgement.h"
#include "backend/base/number_text.h"

namespace spscope::gui {
namespace {

// Of the strategies of the same workload and mode.
Judgement judgement_of(const Chosen& chosen) {
  for (const ModeGroup& group : by_mode(*chosen.comparison))
    if (std::ranges::find(group.strategies, chosen.strategy) != group.strategies.end()) return judge(group);
  return {};
}

std::string why_not(const StrategyResult& strategy, const Judgement& judgement) {
  if (strategy.verify == "failed") return "its output is wrong: no time to compare";
  if (oversubscribed(strategy)) return "ranks shared cores: no time to compare";
  if (judgement.foreign) return "compute is another machine's: no times to compare";
  if (judgement.empty_masks) return "nothing is attended: no times to compare";
  if (!judgement.disturbance.empty()) return judgement.disturbance + ": no times to compare";
  return "";
}

}  // namespace

std::string band_words(const BandTime& band, std::span<const BandTime> all) {
  std::string words = duration_text(static_cast<double>(band.makespan_ns));
  const Judgement judgement = judgement_of(*band.chosen);
  if (const std::string reason = why_not(*band.chosen->strategy, judgement); !reason.empty())
    return words + ", " + reason;
  const BandTime* fastest = nullptr;
  for (const BandTime& other : all) {
    const bool comparable = std::ranges::find(judgement.ranked, other.chosen->strategy) != judgement.ranked.end() &&
                            (fastest == nullptr || other.makespan_ns < fastest->makespan_ns);
    if (comparable) fastest = &other;
  }
  if (judgement.lead == Lead::kUnknown || fastest == nullptr || fastest->makespan_ns >= band.makespan_ns) return words;
  words += ", " + duration_text(static_cast<double>(band.makespan_ns - fastest->makespan_ns)) + " slower than " +
           fastest->chosen->strategy->label;
  const auto level = judgement.ranked.begin() + std::max(1, judgement.level);
  const auto as_fast = [&](const BandTime& one) {
    return std::find(judgement.ranked.begin(), level, one.chosen->strategy) != level;
  };
  const bool level_lead = judgement.lead == Lead::kTied || judgement.lead == Lead::kTooClose;
  if (level_lead && as_fast(band) && as_fast(*fastest)) words += ", too close to call over all layer passes";
  return words;
}

}  // namespace spscope::gui
