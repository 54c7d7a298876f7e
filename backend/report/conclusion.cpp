#include "backend/report/conclusion.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "backend/report/format.h"

namespace spscope {
namespace {

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
  std::string names;
  for (const StrategyResult* s : judgement.refused) names += (names.empty() ? "" : ", ") + s->label;
  const std::string fastest =
      names.empty() ? fmt::format("{}, {} is fastest", kind_of_times(group, judgement), best.label)
                    : fmt::format(
                          "No winner is named, since {} was asked for and cannot run. {}, {} is the fastest of "
                          "the others",
                          names, kind_of_times(group, judgement), best.label);
  if (judgement.lead == Lead::kTooClose)
    return fmt::format("{}{}; within {}, which the model cannot tell apart: {}.", fastest, support_mark(judgement),
                       percent_text(judgement.error->median), level_names(judgement));
  if (judgement.lead == Lead::kTied)
    return fmt::format("{}; equally fast within the spread of the repeats: {}.", fastest, level_names(judgement));
  if (judgement.lead == Lead::kDepends)
    return fmt::format(
        "{}{} with the middle of the network's range, but it depends: {} is with its fast end, {} with its "
        "slow end.",
        fastest, support_mark(judgement), judgement.at_low->label, judgement.at_high->label);
  const std::string range = judgement.at_low ? " at both ends of the network's range" : "";
  const auto best_ns = static_cast<double>(std::max<std::int64_t>(1, *best.makespan_ns));
  const double ratio = static_cast<double>(*second.makespan_ns) / best_ns;
  constexpr double kFactor = 2;  // from here on a percentage is harder to read
  return ratio >= kFactor ? fmt::format("{}{}{}: {} takes {:.1f} times as long.", fastest, support_mark(judgement),
                                        range, second.label, ratio)
                          : fmt::format("{}{}{}, {} ahead of {}.", fastest, support_mark(judgement), range,
                                        percent_text(ratio - 1), second.label);
}

// What the limit is and where it is from, and what nothing supports.
std::vector<std::string> support_sentences(const Judgement& judgement) {
  std::vector<std::string> sentences;
  if (std::string unmeasured = unmeasured_sentence(judgement); !unmeasured.empty())
    sentences.push_back(std::move(unmeasured));
  if (const auto& error = judgement.error) {
    const std::string pairs = error->pairs > 0 ? fmt::format(" ({} pairs, {} source{})", error->pairs, error->sources,
                                                             error->sources == 1 ? "" : "s")
                                               : "";
    sentences.push_back(fmt::format("Differences below {} are not ranked ({}): {}{}.", percent_text(error->median),
                                    error->name, error->from, pairs));
  }
  return sentences;
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

std::string support_mark(const Judgement& judgement) { return judgement.unmeasured.empty() ? "" : " (unmeasured)"; }

std::string unmeasured_sentence(const Judgement& judgement) {
  if (judgement.unmeasured.empty() || judgement.lead == Lead::kTied) return "";
  return "Unmeasured: " + judgement.unmeasured + ", so the difference is the model's alone.";
}

std::vector<std::string> conclusions(const ModeGroup& group) {
  const auto timed =
      std::ranges::find_if(group.strategies, [](const StrategyResult* s) { return s->makespan_ns.has_value(); });
  if (group.of->workload.density == 0.0) return {};
  if (timed == group.strategies.end()) return about_plans(group);
  const Judgement judgement = judge(group);
  if (judgement.lead == Lead::kUnknown) return {};
  std::vector<std::string> sentences = {winner_sentence(group, judgement)};
  std::ranges::move(reason_sentences(judgement, OfPasses::kAll), std::back_inserter(sentences));
  return sentences;
}

std::vector<std::string> reason_sentences(const Judgement& judgement, OfPasses of) {
  std::vector<std::string> sentences;
  for (const StrategyResult* s : judgement.ranked) {
    const std::optional<Reason> reason = judgement.reason(*s);
    if (!reason) continue;
    // Wire time beside the compute of another machine is not meaningful.
    const bool wire = reason->cause == Cause::kWireInside || reason->cause == Cause::kWireBetween;
    if (wire && judgement.foreign) continue;
    sentences.push_back(reason_text(*reason, *s, *judgement.ranked.front(), of) + ".");
  }
  return sentences;
}

std::vector<std::string> support_of_conclusions(const ModeGroup& group) {
  const Judgement judgement = judge(group);
  if (judgement.lead == Lead::kUnknown || judgement.foreign) return {};
  return support_sentences(judgement);
}

}  // namespace spscope
