#include "backend/report/conclusion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backend/analysis/trust.h"
#include "backend/report/format.h"
#include "backend/report/judgement.h"

namespace spscope {
namespace {

// How much longer `s` spends on a part of the makespan than `other`, mean over ranks.
double excess_ns(const StrategyResult& s, const StrategyResult& other,
                 const std::vector<std::int64_t> RankTimes::*part) {
  return mean(s.times.*part).value_or(0) - mean(other.times.*part).value_or(0);
}

// Whole percents above an even spread, at least 1. REQUIRES: the imbalance ratio is known.
double percent_above_even(const StrategyResult& s) {
  constexpr double kRounding = 1e-9;  // 1.09 - 1 is a little more than 0.09
  return std::max(1.0, std::ceil(100 * (*s.imbalance_ratio - 1) - kRounding));
}

// The advantage of a strategy over the next one: clearly more even work, or else the part of the makespan where it
// saves most.
std::string strength(const StrategyResult& s, const StrategyResult& next) {
  constexpr double kEven = 0.1, kClearlyMore = 0.05;
  if (s.imbalance_ratio && next.imbalance_ratio && *s.imbalance_ratio - 1 < kEven &&
      *next.imbalance_ratio - *s.imbalance_ratio > kClearlyMore)
    return fmt::format(": balanced within {:.0f} %, the other within {:.0f} %", percent_above_even(s),
                       percent_above_even(next));
  struct Saving {
    double ns;
    const char* words;
  };
  const Saving savings[] = {{excess_ns(next, s, &RankTimes::compute_ns), "computes {} less on each rank"},
                            {excess_ns(next, s, &RankTimes::wait_late_peer_ns), "waits {} less for late peers"},
                            {excess_ns(next, s, &RankTimes::wire_ns), "spends {} less on the wire"},
                            {excess_ns(next, s, &RankTimes::other_ns), "idles {} less"}};
  const Saving& best = *std::ranges::max_element(savings, {}, &Saving::ns);
  return best.ns > 0 ? ": it " + fmt::format(fmt::runtime(best.words), duration_text(best.ns)) : "";
}

// Those that are as fast as the first: "ring r4, usp u2 r2"
std::string level_names(const Judgement& judgement) {
  std::string names;
  for (int i = 1; i < judgement.level; ++i)
    names += (names.empty() ? "" : ", ") + judgement.ranked[static_cast<std::size_t>(i)]->label;
  return names;
}

// Which times these are, measured or not.
std::string_view kind_of_times(const ModeGroup& group, const Judgement& judgement) {
  if (judgement.foreign) return "With this CPU's compute";
  static constexpr std::string_view kinds[] = {"Measured", "With compute measured and the network modelled",
                                               "By the model"};
  return kinds[static_cast<std::size_t>(group.mode)];
}

std::string winner_sentence(const ModeGroup& group, const Judgement& judgement) {
  const StrategyResult &best = *judgement.ranked[0], &second = *judgement.ranked[1];
  const std::string fastest = fmt::format("{}, {} is fastest", kind_of_times(group, judgement), best.label);
  if (judgement.lead == Lead::kTooClose)
    return fmt::format("{}; within {:.0f} %, which a model cannot tell apart: {}.", fastest, 100 * kModelAccuracy,
                       level_names(judgement));
  if (judgement.lead == Lead::kTied)
    return fmt::format("{}; equally fast within the spread of the repeats: {}.", fastest, level_names(judgement));
  const auto best_ns = static_cast<double>(std::max<std::int64_t>(1, *best.makespan_ns));
  const double ahead = static_cast<double>(*second.makespan_ns) / best_ns - 1;
  return fmt::format("{}, {} ahead of {}{}.", fastest, percent_text(ahead), second.label, strength(best, second));
}

// The rank that a strategy waits for: by far the longest part of a wait is for the rank that computes longest.
std::string waited_for(const StrategyResult& s) {
  const auto slow = slowest(s);
  if (!slow) return "";
  if (slow->of == 1)
    return fmt::format(" for rank {}, which computes {} longer than the mean", *slow->rank, percent_text(slow->excess));
  if (slow->rank)
    return fmt::format(" for rank {}, slowest in {} of {} layer passes; the slowest is on average {} above the mean",
                       *slow->rank, slow->times, slow->of, percent_text(slow->excess));
  return fmt::format(" for the slowest rank of each layer, on average {} above the mean", percent_text(slow->excess));
}

// The largest loss of a strategy against the best one, as a sentence.
std::string loser_sentence(const StrategyResult& s, const StrategyResult& best, bool foreign) {
  if (s.times.compute_ns.empty() || best.times.compute_ns.empty()) return "";
  const double late = excess_ns(s, best, &RankTimes::wait_late_peer_ns), wire = excess_ns(s, best, &RankTimes::wire_ns);
  const double compute = excess_ns(s, best, &RankTimes::compute_ns), other = excess_ns(s, best, &RankTimes::other_ns);
  const double largest = std::max({late, wire, compute, other});
  if (largest <= 0) return "";
  if (largest == late || largest == other)
    return fmt::format("{} waits {} more than {}{}.", s.label, duration_text(largest), best.label, waited_for(s));
  if (largest == compute)
    return fmt::format("{} computes {} more than {} on each rank.", s.label, duration_text(compute), best.label);
  if (foreign) return "";  // wire time beside the compute of another machine is not meaningful
  return fmt::format("{} spends {} more on the wire than {}: it sends {} a rank.", s.label, duration_text(wire),
                     best.label, bytes_text(mean(s.bytes_sent).value_or(0)));
}

std::vector<std::string> about_plans(const ModeGroup& group) {
  const StrategyResult *balanced = nullptr, *frugal = nullptr;
  for (const StrategyResult* s : group.strategies) {
    if (!s->legal()) continue;
    if (s->coupled_imbalance_ratio && (!balanced || *s->coupled_imbalance_ratio < *balanced->coupled_imbalance_ratio))
      balanced = s;
    if (!s->bytes_sent.empty() && (!frugal || *mean(s->bytes_sent) < *mean(frugal->bytes_sent))) frugal = s;
  }
  std::vector<std::string> sentences;
  if (balanced)
    sentences.push_back(
        fmt::format("{} is balanced best: {} above an even spread when ranks wait only for what they need.",
                    balanced->label, percent_text(*balanced->coupled_imbalance_ratio - 1)));
  if (frugal)
    sentences.push_back(
        fmt::format("{} sends least: {} a rank.", frugal->label, bytes_text(*mean(frugal->bytes_sent))));
  return sentences;
}

}  // namespace

std::vector<std::string> conclusions(const ModeGroup& group) {
  const auto timed =
      std::ranges::find_if(group.strategies, [](const StrategyResult* s) { return s->makespan_ns.has_value(); });
  if (timed == group.strategies.end()) return about_plans(group);
  const Judgement judgement = judge(group);
  if (judgement.lead == Lead::kUnknown) return {};
  std::vector<std::string> sentences = {winner_sentence(group, judgement)};
  const StrategyResult *first = judgement.ranked.front(), *last = judgement.ranked.back();
  if (judgement.level == static_cast<int>(judgement.ranked.size())) return sentences;
  if (std::string loser = loser_sentence(*last, *first, judgement.foreign); !loser.empty())
    sentences.push_back(std::move(loser));
  return sentences;
}

}  // namespace spscope
