#include "backend/analysis/reason.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <tuple>

#include "backend/analysis/over_ranks.h"
#include "backend/base/number_text.h"

namespace spscope {
namespace {

double per_rank(std::int64_t sum, const StrategyResult& s) {
  return static_cast<double>(sum) / static_cast<double>(std::max<std::size_t>(1, s.times.compute_ns.size()));
}

// Launches of a rank in one layer pass.
std::string launches_text(const StrategyResult& s) {
  const double passes = static_cast<double>(std::max<std::size_t>(1, s.by_layer.size()));
  const double launches = per_rank(s.attention_launches.value_or(0), s) / passes;
  return fmt::format("{:.{}f}", launches, launches == static_cast<double>(static_cast<std::int64_t>(launches)) ? 0 : 1);
}

// `passes`: of how many layer passes the lists are sums.
std::string bytes_instead(const std::vector<std::int64_t>& slower, const std::vector<std::int64_t>& faster,
                          double passes, const char* verb) {
  if (slower.empty()) return "";
  const double bytes = mean_over_ranks(slower) / passes, instead = mean_over_ranks(faster) / passes;
  if (bytes <= 0) return "";
  if (bytes_text(bytes) == bytes_text(instead)) return fmt::format(", {} the same {} a rank", verb, bytes_text(bytes));
  if (bytes < instead)
    return fmt::format(", at a lower rate: {} only {} a rank and not {}", verb, bytes_text(bytes), bytes_text(instead));
  return fmt::format(", {} {} a rank{}", verb, bytes_text(bytes),
                     faster.empty() ? "" : " instead of " + (instead > 0 ? bytes_text(instead) : "none"));
}

// How far the slowest rank of each layer pass is above the mean of its ranks, a mean over layer passes.
double mean_excess(const StrategyResult& s) {
  double sum = 0;
  for (const LayerResult& layer : s.by_layer) sum += layer.slowest_excess.value_or(0);
  return s.by_layer.empty() ? 0 : sum / static_cast<double>(s.by_layer.size());
}

// The layer pass of which `rank` is the slowest rank by most; without one, of any rank. nullptr: none is known.
const LayerResult* worst_pass(const StrategyResult& s, std::optional<int> rank) {
  const LayerResult* worst = nullptr;
  for (const LayerResult& layer : s.by_layer) {
    const bool counts = layer.slowest_rank && layer.slowest_excess && (!rank || layer.slowest_rank == rank);
    if (counts && (!worst || *layer.slowest_excess > *worst->slowest_excess)) worst = &layer;
  }
  return worst;
}

// A rank of a strategy, at the layer pass where it stands out by most.
Subject at_worst_pass(const StrategyResult& s, std::optional<int> rank) {
  Subject subject{.strategy = s.id, .rank = rank};
  if (const LayerResult* pass = worst_pass(s, rank)) {
    subject.rank = pass->slowest_rank;
    subject.layer = pass->layer;
    subject.denoise_step = pass->denoise_step;
  }
  return subject;
}

Sentence late_sentence(const LateRank& late, std::int64_t cause_ns, const StrategyResult& s, double passes) {
  constexpr double kShown = 0.0005;  // reads as 0.1 % and more
  constexpr std::int64_t kLargePart = 5;
  // Figures of one rank over all layer passes explain waits that are for it in nearly all of them.
  constexpr double kNearlyAll = 0.9;
  if (late.share < kNearlyAll && s.by_layer.size() > 1)
    return SentenceBuilder()
        .add("waiting for ")
        .name("the slowest rank of each layer pass", at_worst_pass(s, {}))
        .add(fmt::format(", on average {} above the mean", percent_text(mean_excess(s))))
        .take();
  SentenceBuilder sentence;
  sentence.add("waiting for ")
      .add(late.share < 0.5 ? "one rank or another, longest for " : "")
      .name(fmt::format("rank {}", late.rank), at_worst_pass(s, late.rank));
  if (late.more_tiles >= kShown)
    sentence.add(fmt::format(", which has {} more active tiles than the mean", percent_text(late.more_tiles)));
  else if (late.more_compute >= kShown)
    sentence.add(fmt::format(", which computes {} longer than the mean", percent_text(late.more_compute)));
  if (!late.heads.empty())
    sentence.add(late.heads.ends_with("heads") ? " (" + late.heads + ")" : fmt::format(" (heads {})", late.heads));
  if (late.ring_step > 0 && late.ring_step_ns * kLargePart >= cause_ns)
    sentence.add(fmt::format(", most of all before ring step {} ({})", late.ring_step,
                             duration_text(static_cast<double>(late.ring_step_ns) / passes)));
  return sentence.take();
}

std::string cause_text(const Reason& reason, const StrategyResult& slower, const StrategyResult& faster,
                       double passes) {
  switch (reason.cause) {
    case Cause::kLaunches:
      return fmt::format("for launching attention, {} times a rank instead of {}", launches_text(slower),
                         launches_text(faster));
    case Cause::kRows:
      return fmt::format("for query rows that every launch takes up anew, in {} launches a rank instead of {}",
                         launches_text(slower), launches_text(faster));
    case Cause::kTiles:
      return slower.tiles_redundant.value_or(0) > faster.tiles_redundant.value_or(0)
                 ? "for tiles that several ranks compute"
                 : "in attention kernels";
    case Cause::kMerges:
      return "for merging partial results";
    case Cause::kCopies:
      return "for packing and copying inside the ranks";
    case Cause::kKernels:
      return "in the other kernels of the layer";
    case Cause::kSlowdown:
      return "because sending and receiving slow the kernels beside them (a fitted factor, compute_slowdown)";
    case Cause::kLateRank:
      return "waiting for late ranks";
    case Cause::kLatency:
      return fmt::format("starting transfers that nothing hides ({} messages instead of {})",
                         count_text(static_cast<double>(slower.messages.value_or(0)) / passes),
                         count_text(static_cast<double>(faster.messages.value_or(0)) / passes));
    case Cause::kWireInside:
      return "on the wire inside nodes" +
             bytes_instead(slower.bytes_sent_intra_node, faster.bytes_sent_intra_node, passes, "sending");
    case Cause::kWireBetween:
      return "on the wire between nodes" +
             bytes_instead(slower.bytes_sent_inter_node, faster.bytes_sent_inter_node, passes, "sending");
    case Cause::kHost:
      return "waiting for the host, which issues operations later than the device could run them";
    case Cause::kIdle:
      break;
  }
  return "waiting for operations of the same rank";
}

bool is_transfer(Cause cause) {
  return cause == Cause::kLatency || cause == Cause::kWireInside || cause == Cause::kWireBetween;
}

}  // namespace

std::pair<Cause, std::int64_t> largest_cause(const TimeTerms& terms) {
  std::pair<Cause, std::int64_t> largest{Cause::kIdle, 0};
  for (int i = 0; i < kNumCauses; ++i)
    if (const auto cause = static_cast<Cause>(i); terms.of(cause) > largest.second) largest = {cause, terms.of(cause)};
  return largest;
}

bool means_mislead(const TimeTerms& mean_terms, const TimeTerms& path_terms) {
  const Cause mean = largest_cause(mean_terms).first, path = largest_cause(path_terms).first;
  return mean == Cause::kLateRank ? is_transfer(path) : path_terms.of(mean) <= 0;
}

std::optional<LateRank> late_rank(const StrategyResult& s) {
  const std::int64_t all_ns = std::accumulate(s.waited_for_ns.begin(), s.waited_for_ns.end(), std::int64_t{0});
  if (all_ns <= 0) return std::nullopt;
  const auto longest = std::ranges::max_element(s.waited_for_ns);
  const auto rank = static_cast<std::size_t>(longest - s.waited_for_ns.begin());
  LateRank late;
  late.rank = static_cast<int>(rank);
  late.share = static_cast<double>(*longest) / static_cast<double>(all_ns);
  late.more_tiles = above_mean(s.tiles_by_rank, rank);
  late.more_compute = above_mean(s.times.compute_ns, rank);
  if (rank < s.heads_by_rank.size()) late.heads = s.heads_by_rank[rank];
  std::vector<std::int64_t> of_step;
  for (const RankWait& wait : s.rank_waits) {
    if (wait.late_rank != late.rank || wait.ring_step <= 0) continue;
    of_step.resize(std::max(of_step.size(), static_cast<std::size_t>(wait.ring_step) + 1));
    of_step[static_cast<std::size_t>(wait.ring_step)] += wait.wait_ns;
  }
  const auto worst = std::ranges::max_element(of_step);
  if (worst != of_step.end() && *worst > 0) {
    late.ring_step = static_cast<int>(worst - of_step.begin());
    late.ring_step_ns = static_cast<std::int64_t>(per_rank(*worst, s));
  }
  return late;
}

std::optional<Reason> reason_for(const StrategyResult& slower, const StrategyResult& faster) {
  if (!slower.terms || !faster.terms || !slower.makespan_ns || !faster.makespan_ns) return std::nullopt;
  Reason reason;
  reason.than = faster.id;
  reason.difference_ns = *slower.makespan_ns - *faster.makespan_ns;
  reason.terms = *slower.terms - *faster.terms;
  std::tie(reason.cause, reason.cause_ns) = largest_cause(reason.terms);
  if (slower.path_terms && faster.path_terms) {
    const TimeTerms path = *slower.path_terms - *faster.path_terms;
    reason.along_path = means_mislead(reason.terms, path);
    if (reason.along_path) std::tie(reason.cause, reason.cause_ns) = largest_cause(path);
  }
  if (reason.cause_ns <= 0) return std::nullopt;
  if (reason.cause == Cause::kLateRank) reason.late = late_rank(slower);
  return reason;
}

Sentence reason_sentence(const Reason& reason, const StrategyResult& slower, const StrategyResult& faster,
                         OfPasses of) {
  const bool mean_pass = of == OfPasses::kMean;
  const double passes = mean_pass ? static_cast<double>(std::max<std::size_t>(1, slower.by_layer.size())) : 1;
  SentenceBuilder sentence;
  sentence.name(slower.label, {.strategy = slower.id})
      .add(fmt::format(" takes {}{} longer: ", duration_text(static_cast<double>(reason.difference_ns) / passes),
                       mean_pass ? " a layer" : ""))
      .name(duration_text(static_cast<double>(reason.cause_ns) / passes),
            {.strategy = slower.id, .cause = std::string(cause_name(reason.cause))})
      .add(reason.cause_ns <= reason.difference_ns ? " of it " : " more ")
      .add(reason.along_path ? "along the critical path " : "");
  if (reason.cause == Cause::kLateRank && reason.late)
    sentence.add(late_sentence(*reason.late, reason.cause_ns, slower, passes));
  else
    sentence.add(cause_text(reason, slower, faster, passes));
  return sentence.take();
}

std::string reason_text(const Reason& reason, const StrategyResult& slower, const StrategyResult& faster, OfPasses of) {
  return reason_sentence(reason, slower, faster, of).text;
}

}  // namespace spscope
