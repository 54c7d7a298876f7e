#include "backend/analysis/attribution.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "backend/analysis/strategy_result.h"

namespace spscope {
namespace {

// Two strategies, and what remains of their difference.
struct Pair {
  Without &slower, &faster;

  std::int64_t without(const std::vector<Cause>& causes) const {
    CauseScales of_slower, of_faster;
    for (const Cause cause : causes) {
      if (cause == Cause::kTransfers)
        for (const Cause part : {Cause::kLatency, Cause::kWireInside, Cause::kWireBetween})
          of_slower[part] = of_faster[part] = 0;
      else if (cause != Cause::kTiles && cause != Cause::kKernels)
        of_slower[cause] = of_faster[cause] = 0;
      else if (more_compute(cause) > 0)
        of_slower[cause] =
            static_cast<double>(faster.compute().of(cause)) / static_cast<double>(slower.compute().of(cause));
    }
    return slower.makespan_ns(of_slower) - faster.makespan_ns(of_faster);
  }

  std::int64_t more_compute(Cause cause) const { return slower.compute().of(cause) - faster.compute().of(cause); }
};

struct Effect {
  Cause cause = Cause::kIdle;
  std::int64_t more_ns = 0;       // of its terms than the faster one has, by means or, of transfers, along the path
  std::int64_t remaining_ns = 0;  // of the difference
};

// Of the causes that the slower one has more of by over a twentieth of the difference of the two: what differs by less
// is equal for a reader.
std::vector<Effect> effects_of(const StrategyResult& slower, const StrategyResult& faster, const Pair& pair,
                               std::int64_t difference_ns) {
  const auto shows = [](std::int64_t ns, std::int64_t of_ns) {
    return static_cast<double>(ns) > kNamed * static_cast<double>(of_ns);
  };
  const TimeTerms mean = *slower.terms - *faster.terms;
  const TimeTerms path = slower.path_terms && faster.path_terms ? *slower.path_terms - *faster.path_terms : TimeTerms{};
  const std::int64_t whole_ns = *slower.makespan_ns - *faster.makespan_ns;
  std::vector<Effect> effects;
  for (int i = 0; i < kNumCauses; ++i) {
    const auto cause = static_cast<Cause>(i);
    // Most ranks may wait out the transfers of a few: then only the path has them.
    const std::int64_t more_ns = is_transfer(cause) ? std::max(mean.of(cause), path.of(cause)) : mean.of(cause);
    const bool more =
        is_compute(cause) ? shows(pair.more_compute(cause), difference_ns) && more_ns > 0 : shows(more_ns, whole_ns);
    if (cause == Cause::kIdle || !more) continue;
    effects.push_back({cause, more_ns, pair.without({cause})});
  }
  return effects;
}

// Transfers and a part of them.
bool overlap(Cause a, Cause b) {
  return is_transfer(a) && is_transfer(b) && (a == Cause::kTransfers || b == Cause::kTransfers);
}

// Attribution::shares of two causes. `remaining_ns`: without both.
std::vector<double> shares_of(const Effect& first, const Effect& second, std::int64_t remaining_ns,
                              std::int64_t difference_ns) {
  const auto gone = [&](std::int64_t ns) { return 1 - static_cast<double>(ns) / static_cast<double>(difference_ns); };
  const double both = std::min(1.0, gone(remaining_ns)), alone = gone(first.remaining_ns);
  const double together = std::max(0.0, both - alone - gone(second.remaining_ns));
  const double share = std::clamp(alone + together / 2, 0.0, both);
  return {share, both - share};
}

}  // namespace

Probe::Probe(EditablePasses passes, std::optional<std::size_t> only)
    : passes_(std::move(passes)), rescheduler_(passes_), only_(only) {}

std::int64_t Probe::makespan_ns(const CauseScales& scales) const {
  const ScheduledPasses scheduled = rescheduler_.run_scaled(scales);
  if (only_) return scheduled.passes[*only_].makespan_ns;
  std::int64_t sum_ns = 0;
  for (const ScheduledPass& pass : scheduled.passes) sum_ns += pass.makespan_ns;
  return sum_ns;
}

Without::Without(const Probes& probes) : probes_(probes) {
  for (const auto& probe : probes) compute_ += probe->rescheduler().compute_terms();
}

std::int64_t Without::makespan_ns(const CauseScales& scales) {
  const auto [known, is_new] = known_.try_emplace(scales.of, 0);
  for (std::size_t i = 0; is_new && i < probes_.size(); ++i) known->second += probes_[i]->makespan_ns(scales);
  return known->second;
}

std::optional<Attribution> attribute(const StrategyResult& slower, const StrategyResult& faster) {
  Without of_slower(slower.probes), of_faster(faster.probes);
  return attribute(slower, faster, of_slower, of_faster);
}

std::optional<Attribution> attribute(const StrategyResult& slower, const StrategyResult& faster, Without& of_slower,
                                     Without& of_faster) {
  if (slower.probes.empty() || slower.probes.size() != faster.probes.size()) return std::nullopt;
  if (!slower.terms || !faster.terms || !slower.makespan_ns || !faster.makespan_ns) return std::nullopt;
  const Pair pair{of_slower, of_faster};
  Attribution found;
  found.than = faster.id;
  found.slower_by_ns = *slower.makespan_ns - *faster.makespan_ns;
  found.difference_ns = found.remaining_ns = pair.without({});
  if (found.difference_ns <= 0) return std::nullopt;
  std::vector<Effect> effects = effects_of(slower, faster, pair, found.difference_ns);
  // Of those that are each enough, the one that differs most: without transfers there is nothing that slows kernels,
  // either. All parts of transfers together where none of them is enough.
  const auto preferred = [](const Effect& e) { return std::pair(e.cause != Cause::kTransfers, e.more_ns); };
  std::ranges::stable_sort(effects, std::greater(), preferred);
  const auto halves = [&](const Effect& e) { return 2 * e.remaining_ns <= found.difference_ns; };
  const auto enough = std::ranges::find_if(effects, halves);
  const bool is_enough = enough != effects.end();
  if (is_enough)
    std::rotate(effects.begin(), enough, std::next(enough));
  else
    std::ranges::stable_sort(effects, {}, &Effect::remaining_ns);
  const auto part = [&](double share) { return share * static_cast<double>(found.difference_ns); };
  if (!effects.empty() && effects.front().remaining_ns < found.difference_ns) {
    found.causes = {effects.front().cause};
    found.remaining_ns = effects.front().remaining_ns;
    found.shares = {1 - static_cast<double>(found.remaining_ns) / part(1)};
  }
  if (static_cast<double>(found.remaining_ns) <= part(1 - kNamedAlone)) return found;
  double least = static_cast<double>(found.remaining_ns) - part(kNamed);
  for (std::size_t i = 0; i < (is_enough ? 1 : effects.size()); ++i)
    for (std::size_t j = i + 1; j < effects.size(); ++j) {
      const Effect &first = effects[i], &second = effects[j];
      if (overlap(first.cause, second.cause)) continue;
      const std::int64_t remaining_ns = pair.without({first.cause, second.cause});
      // A part of transfers says more than all of them.
      const bool all_parts = first.cause == Cause::kTransfers || second.cause == Cause::kTransfers;
      const double remaining = static_cast<double>(remaining_ns) + (all_parts ? part(kNamed) : 0);
      if (remaining >= least) continue;
      least = remaining;
      found.causes = {first.cause, second.cause};
      found.remaining_ns = remaining_ns;
      found.shares = shares_of(first, second, remaining_ns, found.difference_ns);
    }
  return found;
}

}  // namespace spscope
