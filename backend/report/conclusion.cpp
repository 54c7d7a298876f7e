#include "backend/report/conclusion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backend/report/format.h"

namespace spscope {
namespace {

// Strategies that may be called fast or slow, fastest first.
std::vector<const StrategyResult*> ranked(const ModeGroup& group) {
  std::vector<const StrategyResult*> list;
  for (const StrategyResult* s : group.strategies)
    if (s->legal && s->makespan_ns && s->verify != "failed" && !oversubscribed(*s)) list.push_back(s);
  std::ranges::stable_sort(list, {}, [](const StrategyResult* s) { return *s->makespan_ns; });
  return list;
}

// How much longer `s` spends on a part of the makespan than `other`, mean over ranks.
double excess_ns(const StrategyResult& s, const StrategyResult& other,
                 const std::vector<std::int64_t> RankTimes::*part) {
  return mean(s.times.*part).value_or(0) - mean(other.times.*part).value_or(0);
}

// What a strategy has over the next one: even work, or else the part of the makespan that it saves most of.
std::string strength(const StrategyResult& s, const StrategyResult& next) {
  constexpr double kEven = 0.1;
  const double unevenness = s.imbalance_ratio.value_or(2) - 1;
  if (unevenness < kEven) return fmt::format(": balanced within {:.0f} %", std::max(1.0, std::ceil(100 * unevenness)));
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

std::string winner_sentence(const StrategyResult& best, const StrategyResult& second) {
  const std::int64_t ahead_ns = *second.makespan_ns - *best.makespan_ns;
  const std::int64_t spread_ns = std::max(best.makespan_spread_ns.value_or(0), second.makespan_spread_ns.value_or(0));
  if (ahead_ns <= spread_ns)
    return fmt::format("{} and {} are equally fast within the spread of their repeats.", best.label, second.label);
  const double ahead =
      static_cast<double>(ahead_ns) / static_cast<double>(std::max<std::int64_t>(1, *best.makespan_ns));
  return fmt::format("{} wins, {} ahead of {}{}.", best.label, percent_text(ahead), second.label,
                     strength(best, second));
}

// What a strategy loses against the best one, in the words of its largest loss.
std::string loser_sentence(const StrategyResult& s, const StrategyResult& best) {
  if (s.times.compute_ns.empty() || best.times.compute_ns.empty()) return "";
  const double late = excess_ns(s, best, &RankTimes::wait_late_peer_ns), wire = excess_ns(s, best, &RankTimes::wire_ns);
  const double compute = excess_ns(s, best, &RankTimes::compute_ns), other = excess_ns(s, best, &RankTimes::other_ns);
  const double largest = std::max({late, wire, compute, other});
  if (largest <= 0) return "";
  if (largest == late || largest == other) {
    const int rank = *slowest_rank(s);
    const double mean_ns = *mean(s.times.compute_ns);
    const double more =
        mean_ns > 0 ? static_cast<double>(s.times.compute_ns[static_cast<std::size_t>(rank)]) / mean_ns - 1 : 0;
    return fmt::format("{} loses {} waiting for rank {}, which computes {} longer than the mean.", s.label,
                       duration_text(largest), rank, percent_text(more));
  }
  if (largest == wire) {
    const auto sent = mean(s.bytes_sent);
    return fmt::format("{} spends {} more on the wire: it sends {} a rank.", s.label, duration_text(wire),
                       bytes_text(sent.value_or(0)));
  }
  return fmt::format("{} computes {} longer on each rank.", s.label, duration_text(compute));
}

std::vector<std::string> about_plans(const ModeGroup& group) {
  const StrategyResult *balanced = nullptr, *frugal = nullptr;
  for (const StrategyResult* s : group.strategies) {
    if (!s->legal) continue;
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
  std::vector<std::string> sentences;
  const auto timed =
      std::ranges::find_if(group.strategies, [](const StrategyResult* s) { return s->makespan_ns.has_value(); });
  if (timed == group.strategies.end()) return about_plans(group);
  const std::vector<const StrategyResult*> list = ranked(group);
  if (list.size() > 1) {
    sentences.push_back(winner_sentence(*list.front(), *list[1]));
    std::string loser = loser_sentence(*list.back(), *list.front());
    if (!loser.empty()) sentences.push_back(std::move(loser));
  }
  return sentences;
}

}  // namespace spscope
