#include "backend/analysis/reason.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "backend/analysis/equal_plans.h"
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

// Figures of one rank over all layer passes explain waits that are for it in nearly all of them.
bool one_explains(const LateRank& late, const StrategyResult& s) {
  constexpr double kNearlyAll = 0.9;
  return late.share >= kNearlyAll || s.by_layer.size() <= 1;
}

// Whether a rank is late more than all others together.
bool mostly_one(const LateRank& late) { return late.share >= 0.5; }

// "its ranks wait 4.41 ms on average for rank 2".
void add_late(const std::optional<LateRank>& late, const Sentence& wait, const StrategyResult& s,
              SentenceBuilder& words) {
  words.add("its ranks wait ").add(wait).add(" on average for ");
  if (late && !one_explains(*late, s))
    words.name("the busiest one", at_worst_pass(s, {}));
  else if (late && mostly_one(*late))
    words.name(fmt::format("rank {}", late->rank), at_worst_pass(s, late->rank));
  else
    words.add("late ones");
}

// What makes ranks late, in sentences that go on after it: ". Its heads 20-29 have 36 % more active tiles than the
// mean"; "" where nothing does by what can be read.
void add_late_details(const LateRank& late, std::int64_t wait_ns, const StrategyResult& s, double passes,
                      SentenceBuilder& words) {
  constexpr double kShown = 0.0005;  // reads as 0.1 % and more
  constexpr std::int64_t kLargePart = 5;
  const auto computes = [](double more) { return fmt::format("computes {} longer than the mean", percent_text(more)); };
  if (!one_explains(late, s)) {
    if (const double excess = mean_excess(s); excess >= kShown) words.add(". That rank " + computes(excess));
    return;
  }
  const bool one_head = late.heads.find_first_of("-,") == std::string::npos, counted = late.heads.ends_with("heads");
  const std::string heads = late.heads.empty() ? ""
                            : counted          ? late.heads
                                               : fmt::format("{} {}", one_head ? "head" : "heads", late.heads);
  const bool first = mostly_one(late);  // the sentence begins with it
  const std::string it = first ? "It" : "it";
  std::string why;
  if (late.more_tiles >= kShown)
    why = fmt::format("{} {} more active tiles than the mean",
                      heads.empty()          ? it + " has"
                      : one_head && !counted ? it + "s " + heads + " has"
                                             : it + "s " + heads + " have",
                      percent_text(late.more_tiles));
  else if (late.more_compute >= kShown)
    why = it + " " + computes(late.more_compute) + (heads.empty() ? "" : ", with " + heads);
  if (!first)
    words.add(". ")
        .name(fmt::format("Rank {}", late.rank), at_worst_pass(s, late.rank))
        .add(" is late most" + (why.empty() ? "" : ": " + why));
  else if (!why.empty())
    words.add(". " + why);
  if (late.ring_step > 0 && late.ring_step_ns * kLargePart >= wait_ns)
    words.add(fmt::format(". The longest wait, {}, is before ring step {}",
                          duration_text(static_cast<double>(late.ring_step_ns) / passes), late.ring_step));
}

// ". On the fastest network of such hosts the difference is 1.20 ms", where the range of the times leaves less than
// half of it; else "".
std::string fast_end_text(const StrategyResult& slower, const StrategyResult& faster, double passes) {
  const std::int64_t now_ns = *slower.makespan_ns - *faster.makespan_ns;
  const std::int64_t left_ns =
      slower.makespan_low_ns.value_or(*slower.makespan_ns) - faster.makespan_low_ns.value_or(*faster.makespan_ns);
  if (2 * left_ns >= now_ns) return "";
  const std::string left = duration_text(static_cast<double>(std::abs(left_ns)) / passes);
  return ". On the fastest network of such hosts " +
         (left_ns < 0 ? fmt::format("it is {} faster", left) : fmt::format("the difference is {}", left));
}

// The words of one cause: its times in both strategies, or of compute how much more the slower one has.
class CauseWords {
 public:
  CauseWords(const Reason& reason, const StrategyResult& slower, const StrategyResult& faster, double passes)
      : reason_(reason),
        slower_(slower),
        faster_(faster),
        passes_(passes),
        one_strategy_(own_label(slower) == own_label(faster)) {}

  void add(Cause cause, SentenceBuilder& words) const {
    switch (cause) {
      case Cause::kLaunches:
        words.add(launches_differ() ? fmt::format("it launches attention {} times a rank instead of {}, which takes ",
                                                  launches_text(slower_), launches_text(faster_))
                                    : fmt::format("its {} launches a rank take ", launches_text(slower_)));
        return add_more(cause, words);
      case Cause::kRows:
        words.add(fmt::format("each of its {} launches a rank reads the query rows anew{}, which takes ",
                              launches_text(slower_), launches_differ() ? beside(launches_text(faster_)) : ""));
        return add_more(cause, words);
      case Cause::kTiles:
        words.add(slower_.tiles_redundant.value_or(0) > faster_.tiles_redundant.value_or(0)
                      ? "several ranks compute the same tiles, which takes "
                      : "its attention kernels take ");
        return add_more(cause, words);
      case Cause::kMerges:
        words.add("merging partial results takes ");
        return add_more(cause, words);
      case Cause::kCopies:
        words.add("packing and copying inside the ranks takes ");
        return add_more(cause, words);
      case Cause::kKernels:
        words.add("the other kernels of the layer take ");
        return add_more(cause, words);
      case Cause::kSlowdown:
        words.add("its transfers slow the compute beside them by ").add(time(cause));
        return words.add(other(cause)), void();
      case Cause::kLateRank:
        add_late(reason_.late, time(cause), slower_, words);
        words.add(other(cause));
        if (reason_.late) add_late_details(*reason_.late, ns(slower_, cause), slower_, passes_, words);
        return;
      case Cause::kLatency:
        words.add("the start of its transfers is exposed for ").add(time(cause)).add(other(cause));
        return words.add(messages()), void();
      case Cause::kWireInside:
      case Cause::kWireBetween:
      case Cause::kTransfers:
        return add_wire(cause, words);
      case Cause::kHost:
        words.add("its ranks wait ").add(time(cause)).add(" on average for the host to issue operations");
        words.add(other(cause));
        return;
      case Cause::kIdle:
        break;
    }
    words.add("gaps between its operations take ");
    add_more(cause, words);
  }

 private:
  // Means over ranks, or along the critical path.
  std::int64_t ns(const StrategyResult& s, Cause cause) const {
    const bool path = reason_.along_path && cause == reason_.cause() && s.path_terms;
    return (path ? *s.path_terms : *s.terms).of(cause);
  }
  std::string text(std::int64_t ns) const { return duration_text(static_cast<double>(ns) / passes_); }
  Sentence linked(std::string_view words, Cause cause) const {
    return SentenceBuilder().name(words, {.strategy = slower_.id, .cause = std::string(cause_name(cause))}).take();
  }
  Sentence time(Cause cause) const { return linked(text(ns(slower_, cause)), cause); }
  void add_more(Cause cause, SentenceBuilder& words) const {
    words.add(linked(text(ns(slower_, cause) - ns(faster_, cause)), cause)).add(" more");
  }
  // ", against 0.64 ms in ring r4", the faster one; of two times of one strategy " instead of 0.64 ms".
  std::string beside(const std::string& figure) const {
    return one_strategy_ ? " instead of " + figure : fmt::format(", against {} in {}", figure, own_label(faster_));
  }
  // That, where what the faster one takes shows beside the slower one.
  std::string other(Cause cause) const {
    constexpr std::int64_t kShows = 100;  // of what the slower one takes
    return ns(faster_, cause) * kShows >= ns(slower_, cause) ? beside(text(ns(faster_, cause))) : "";
  }
  bool launches_differ() const { return launches_text(slower_) != launches_text(faster_); }
  // "; it sends 1.35 GB a rank instead of 484 MB". `unit`: " a rank", or what is counted.
  std::string sent(const std::string& figure, const std::string& instead, bool less, const char* unit) const {
    if (figure != instead)
      return fmt::format("; it sends {}{}{} instead of {}", less ? "only " : "", figure, unit, instead);
    return one_strategy_ ? "" : fmt::format("; both send {}{}", figure, unit);
  }
  std::string messages() const {
    const std::int64_t count = slower_.messages.value_or(0), instead = faster_.messages.value_or(0);
    const auto figure = [&](std::int64_t n) { return count_text(static_cast<double>(n) / passes_); };
    return sent(figure(count), figure(instead), count < instead, " messages");
  }
  // Of bytes by rank.
  std::string bytes(const std::vector<std::int64_t> StrategyResult::*by_rank) const {
    if ((slower_.*by_rank).empty() || (faster_.*by_rank).empty()) return "";
    const double bytes = mean_over_ranks(slower_.*by_rank) / passes_,
                 instead = mean_over_ranks(faster_.*by_rank) / passes_;
    if (bytes <= 0) return "";
    return sent(bytes_text(bytes), instead > 0 ? bytes_text(instead) : "none", bytes < instead, " a rank");
  }
  void add_wire(Cause cause, SentenceBuilder& words) const {
    const char* where = cause == Cause::kWireInside    ? " inside nodes"
                        : cause == Cause::kWireBetween ? " between nodes"
                                                       : "";
    if (reason_.along_path && cause == reason_.cause())
      words.add("its critical path has ").add(time(cause)).add(fmt::format(" of transfers{}", where)).add(other(cause));
    else
      words.add(time(cause)).add(fmt::format(" of its transfers{} are exposed", where)).add(other(cause));
    words.add(bytes(cause == Cause::kWireInside    ? &StrategyResult::bytes_sent_intra_node
                    : cause == Cause::kWireBetween ? &StrategyResult::bytes_sent_inter_node
                                                   : &StrategyResult::bytes_sent));
  }

  const Reason& reason_;
  const StrategyResult &slower_, &faster_;
  double passes_;
  bool one_strategy_;
};

// kIdle, 0 where none but `except` is above 0.
std::pair<Cause, std::int64_t> largest_cause(const TimeTerms& terms, std::optional<Cause> except = {}) {
  std::pair<Cause, std::int64_t> largest{Cause::kIdle, 0};
  for (int i = 0; i < kNumCauses; ++i)
    if (const auto cause = static_cast<Cause>(i);
        cause != Cause::kTransfers && cause != except && terms.of(cause) > largest.second)
      largest = {cause, terms.of(cause)};
  return largest;
}

// Of measured times. Ranks that are late because of a transfer along the path wait for that.
void take_from_terms(const TimeTerms& path, Reason& reason) {
  const auto take = [&](Cause cause, std::int64_t ns) {
    reason.causes.push_back(cause);
    reason.shares.push_back(static_cast<double>(ns) / static_cast<double>(reason.difference_ns));
    reason.removed_ns += ns;
  };
  const auto [cause, ns] = largest_cause(reason.terms);
  const auto [on_path, path_ns] = largest_cause(path);
  if (cause == Cause::kLateRank && is_transfer(on_path)) return take(on_path, path_ns);
  take(cause, ns);
  const auto [second, second_ns] = largest_cause(reason.terms, cause);
  if (reason.share() < kNamedAlone &&
      static_cast<double>(second_ns) > kNamed * static_cast<double>(reason.difference_ns))
    take(second, second_ns);
}

}  // namespace

double Reason::share() const { return std::accumulate(shares.begin(), shares.end(), 0.0); }

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
  if (reason.difference_ns <= 0) return std::nullopt;
  reason.terms = *slower.terms - *faster.terms;
  const TimeTerms path = slower.path_terms && faster.path_terms ? *slower.path_terms - *faster.path_terms : TimeTerms{};
  // Ids are those of one file: another one may hold a strategy of the same id.
  const auto known = std::ranges::find_if(slower.attributions, [&](const Attribution& a) {
    return a.than == faster.id && a.slower_by_ns == reason.difference_ns;
  });
  const std::optional<Attribution> found =
      known != slower.attributions.end() ? std::optional(*known) : attribute(slower, faster);
  if (found) {
    if (found->causes.empty()) return std::nullopt;
    reason.causes = found->causes;
    reason.shares = found->shares;
    const double part =
        static_cast<double>(found->difference_ns - found->remaining_ns) / static_cast<double>(found->difference_ns);
    reason.removed_ns = std::llround(part * static_cast<double>(reason.difference_ns));
  } else {
    take_from_terms(path, reason);
  }
  if (reason.removed_ns <= 0) return std::nullopt;
  const Cause cause = reason.cause();
  reason.along_path = is_transfer(cause) && 2 * reason.terms.of(cause) < path.of(cause);
  if (std::ranges::find(reason.causes, Cause::kLateRank) != reason.causes.end()) reason.late = late_rank(slower);
  return reason;
}

ReasonWords reason_words(const Reason& reason, const StrategyResult& slower, const StrategyResult& faster,
                         OfPasses of) {
  const double passes =
      of == OfPasses::kMean ? static_cast<double>(std::max<std::size_t>(1, slower.by_layer.size())) : 1;
  const CauseWords cause_words(reason, slower, faster, passes);
  const bool one = reason.causes.size() == 1, most = reason.share() >= kNamedAlone;
  SentenceBuilder why;
  const auto text = [passes](std::int64_t ns) { return duration_text(static_cast<double>(ns) / passes); };
  if (!one) why.add(most ? " for two reasons" : " for several reasons");
  for (std::size_t i = 0; i < reason.causes.size(); ++i) {
    if (!one)
      why.add(fmt::format(". The {} makes up {}{}", i == 0 ? "first" : "second", percent_text(reason.shares[i]),
                          i == 0 ? " of the difference" : ""));
    why.add(": ");
    cause_words.add(reason.causes[i], why);
  }
  if (one && !most)
    why.add(fmt::format(". Without that it would still be {} slower, for other reasons",
                        text(reason.difference_ns - reason.removed_ns)));
  why.add(fast_end_text(slower, faster, passes));
  return {text(reason.difference_ns), why.take()};
}

Sentence slower_words(const Reason& reason, const StrategyResult& slower, const StrategyResult& faster, OfPasses of) {
  const ReasonWords words = reason_words(reason, slower, faster, of);
  return SentenceBuilder()
      .add(words.more)
      .add(of == OfPasses::kMean ? " a layer slower" : " slower")
      .add(words.why)
      .take();
}

Sentence reason_sentence(const Reason& reason, const StrategyResult& slower, const StrategyResult& faster,
                         OfPasses of) {
  return SentenceBuilder()
      .name(slower.label, {.strategy = slower.id})
      .add(" is ")
      .add(slower_words(reason, slower, faster, of))
      .take();
}

std::string reason_text(const Reason& reason, const StrategyResult& slower, const StrategyResult& faster, OfPasses of) {
  return reason_sentence(reason, slower, faster, of).text;
}

}  // namespace spscope
