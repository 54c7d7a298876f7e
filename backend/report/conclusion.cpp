#include "backend/report/conclusion.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>

#include "backend/analysis/choice_by_pass.h"
#include "backend/analysis/equal_plans.h"
#include "backend/report/format.h"
#include "backend/report/headline.h"

namespace spscope {
namespace {

Sentence name_of(const StrategyResult& s) { return SentenceBuilder().name(s.label, {.strategy = s.id}).take(); }

std::vector<Sentence> names_of(std::span<const StrategyResult* const> strategies) {
  std::vector<Sentence> names;
  for (const StrategyResult* s : strategies) names.push_back(name_of(*s));
  return names;
}

// Those that are as fast as the first, and whether their plan equals its.
std::vector<Sentence> level_names(const Judgement& judgement, bool equal) {
  std::vector<const StrategyResult*> list(judgement.ranked.begin() + 1, judgement.ranked.begin() + judgement.level);
  std::erase_if(list, [&](const StrategyResult* s) { return equal_plans(*judgement.ranked[0], *s) != equal; });
  return names_of(list);
}

// ", and usp u4 is the same plan", where plans of others equal that of the first.
void add_equal(const std::vector<Sentence>& names, SentenceBuilder& words) {
  if (names.empty()) return;
  words.add(", and ").add(listed(names)).add(names.size() == 1 ? " is the same plan" : " are the same plan");
}

Sentence winner_sentence(const ModeGroup& group, const Judgement& judgement) {
  const StrategyResult &best = *judgement.ranked[0], &second = *judgement.ranked[1];
  SentenceBuilder words;
  if (!judgement.refused.empty())
    words.add("No winner is named, since ")
        .add(listed(names_of(judgement.refused)))
        .add(judgement.refused.size() == 1 ? " was" : " were")
        .add(" asked for and cannot run. ");
  words.add(kind_of_times(group, judgement)).add(", ").add(name_of(best));
  words.add(judgement.refused.empty() ? " is fastest" : " is the fastest of the others");
  const bool level = judgement.lead == Lead::kTied || judgement.lead == Lead::kTooClose;
  if (level) add_equal(level_names(judgement, true), words);
  const std::vector<Sentence> others = level ? level_names(judgement, false) : std::vector<Sentence>();
  if (judgement.lead == Lead::kTied)
    return words.add(others.empty() ? "" : "; equally fast within the spread of the repeats: ")
        .add(listed(others))
        .add(".")
        .take();
  words.add(support_mark(judgement));
  if (level)
    return words.add(others.empty() ? "" : ". ")
        .add(others.empty() ? Sentence() : too_close_words(others, judgement))
        .add(".")
        .add(at_ends_words(judgement, OfPasses::kAll))
        .take();
  if (judgement.lead == Lead::kDepends) {
    words.add(" with the usual network.");
    if (judgement.at_low != &best) words.add(" On a fast one ").add(name_of(*judgement.at_low)).add(" is.");
    if (judgement.at_high != &best) words.add(" On a slow one ").add(name_of(*judgement.at_high)).add(" is.");
    return words.take();
  }
  if (judgement.at_low) words.add(" at both ends of the network's range");
  const auto best_ns = static_cast<double>(std::max<std::int64_t>(1, *best.makespan_ns));
  const double ratio = static_cast<double>(*second.makespan_ns) / best_ns;
  constexpr double kFactor = 2;  // from here on a percentage is harder to read
  if (ratio >= kFactor)
    return words.add(": ").add(name_of(second)).add(fmt::format(" takes {:.1f} times as long.", ratio)).take();
  return words.add(fmt::format(", {} ahead of ", percent_text(ratio - 1))).add(name_of(second)).add(".").take();
}

// What the limit is and where it is from, and what nothing supports.
std::vector<std::string> support_sentences(const Judgement& judgement) {
  std::vector<std::string> sentences;
  if (std::string unmeasured = unmeasured_sentence(judgement); !unmeasured.empty())
    sentences.push_back(std::move(unmeasured));
  if (const auto& error = judgement.error) {
    // The first sentence says what is too close to call.
    sentences.push_back(judgement.lead == Lead::kTooClose
                            ? fmt::format("{} is {}.", percent_text(error->median), error->from)
                            : fmt::format("Differences below {} are too close to call. That is {}.",
                                          limit_text(judgement), error->from));
  }
  if (std::string note = attention_note(judgement); !note.empty()) sentences.push_back(std::move(note));
  return sentences;
}

std::vector<Sentence> about_plans(const ModeGroup& group) {
  const StrategyResult *balanced = nullptr, *frugal = nullptr;
  if (std::ranges::count_if(group.strategies, &StrategyResult::legal) < 2) return {};  // best of nothing
  for (const StrategyResult* s : group.strategies) {
    if (!s->legal()) continue;
    if (s->coupled_imbalance_ratio && (!balanced || *s->coupled_imbalance_ratio < *balanced->coupled_imbalance_ratio))
      balanced = s;
    if (!s->bytes_sent.empty() && (!frugal || *mean(s->bytes_sent) < *mean(frugal->bytes_sent))) frugal = s;
  }
  std::vector<Sentence> sentences;
  if (balanced)
    sentences.push_back(
        SentenceBuilder()
            .add(name_of(*balanced))
            .add(fmt::format(" is balanced best: {} above an even spread when ranks wait only for what they need.",
                             percent_text(*balanced->coupled_imbalance_ratio - 1)))
            .take());
  if (frugal)
    sentences.push_back(SentenceBuilder()
                            .add(name_of(*frugal))
                            .add(fmt::format(" sends least: {} a rank.", bytes_text(*mean(frugal->bytes_sent))))
                            .take());
  return sentences;
}

}  // namespace

std::string kind_of_times(const ModeGroup& group, const Judgement& judgement) {
  if (judgement.foreign) return fmt::format("With this {}'s compute", device_text(group));
  static constexpr std::string_view kinds[] = {"Measured", "With compute measured and the network modelled",
                                               "By the model"};
  return std::string(kinds[static_cast<std::size_t>(group.mode)]);
}

std::string limit_text(const Judgement& judgement) {
  return fmt::format("{} of {}", percent_text(judgement.error->median),
                     judgement.of_layers ? "a whole layer" : "the attention");
}

std::string attention_note(const Judgement& judgement) {
  if (judgement.rest_ns == 0) return "";
  return fmt::format(
      "These times are of the attention alone. The rest of a layer takes about {} more under any strategy. spscope "
      "advise answers for whole layers.",
      duration_text(judgement.rest_ns));
}

Sentence too_close_words(const std::vector<Sentence>& names, const Judgement& judgement) {
  return SentenceBuilder()
      .add("Too close to call: ")
      .add(listed(names))
      .add(fmt::format(" {} slower by less than {}", names.size() == 1 ? "is" : "are", limit_text(judgement)))
      .take();
}

std::string at_ends_words(const Judgement& judgement, OfPasses of) {
  if (judgement.lead != Lead::kTooClose || !judgement.at_low) return "";
  const auto level_end = judgement.ranked.begin() + judgement.level;
  const auto words = [&](const char* how, const StrategyResult& s, std::optional<std::int64_t> at_end_ns) {
    if (std::find(judgement.ranked.begin(), level_end, &s) != level_end) return std::string();
    const double passes = of == OfPasses::kMean ? static_cast<double>(std::max<std::size_t>(1, s.by_layer.size())) : 1;
    return fmt::format(" On hosts with the {} network {} is fastest, with {}{}.", how, own_label(s),
                       duration_text(static_cast<double>(at_end_ns.value_or(*s.makespan_ns)) / passes),
                       of == OfPasses::kMean ? " a layer" : "");
  };
  return words("fastest", *judgement.at_low, judgement.at_low->makespan_low_ns) +
         words("slowest", *judgement.at_high, judgement.at_high->makespan_high_ns);
}

std::string unmeasured_text(const Judgement& judgement) {
  const bool both = !judgement.unmeasured.empty() && !judgement.assumed_moves.empty();
  return judgement.unmeasured + (both ? "; " : "") + judgement.assumed_moves;
}

std::string support_mark(const Judgement& judgement) {
  return unmeasured_text(judgement).empty() ? "" : " (predicted)";
}

std::string prediction_sentence(const Judgement& judgement, const std::string& why) {
  return why.empty() || judgement.lead == Lead::kTied ? "" : "This ranking is a prediction: " + why + ".";
}

std::string unmeasured_sentence(const Judgement& judgement) {
  return prediction_sentence(judgement, unmeasured_text(judgement));
}

std::string by_pass_sentence(const Judgement& judgement) {
  const std::optional<double> saved = saved_by_pass(judgement);
  if (!saved) return "";
  return fmt::format("The fastest strategy of each layer pass would save {} over {} in all.", percent_text(*saved),
                     own_label(*judgement.ranked.front()));
}

std::vector<Sentence> conclusions(const ModeGroup& group) {
  const auto timed =
      std::ranges::find_if(group.strategies, [](const StrategyResult* s) { return s->makespan_ns.has_value(); });
  if (group.of->workload.density == 0.0) return {};
  if (timed == group.strategies.end()) return about_plans(group);
  const Judgement judgement = judge(group);
  if (judgement.lead == Lead::kUnknown) return {};
  std::vector<Sentence> sentences = {winner_sentence(group, judgement)};
  std::ranges::move(reason_sentences(judgement, OfPasses::kAll), std::back_inserter(sentences));
  return sentences;
}

std::vector<Sentence> reason_sentences(const Judgement& judgement, OfPasses of) {
  struct Line {
    std::vector<const StrategyResult*> strategies;
    Sentence words;
  };
  std::vector<Line> lines;
  for (const StrategyResult* s : judgement.ranked) {
    const std::optional<Reason> reason = judgement.reason(*s);
    if (!reason) continue;
    // Wire time beside the compute of another machine is not meaningful.
    const auto wire = [](Cause cause) { return is_transfer(cause) && cause != Cause::kLatency; };
    if (judgement.foreign && std::ranges::any_of(reason->causes, wire)) continue;
    Sentence words = slower_words(*reason, *s, *judgement.ranked.front(), of);
    const auto equal = std::ranges::find_if(lines, [&](const Line& line) { return line.words.text == words.text; });
    if (equal != lines.end())
      equal->strategies.push_back(s);
    else
      lines.push_back({{s}, std::move(words)});
  }
  std::vector<Sentence> sentences;
  for (const Line& line : lines)
    sentences.push_back(SentenceBuilder()
                            .add(listed(names_of(line.strategies)))
                            .add(line.strategies.size() > 1 ? " are " : " is ")
                            .add(line.words)
                            .add(".")
                            .take());
  return sentences;
}

std::vector<std::string> support_of_conclusions(const ModeGroup& group) {
  const Judgement judgement = judge(group);
  if (judgement.lead == Lead::kUnknown || judgement.foreign) return {};
  return support_sentences(judgement);
}

}  // namespace spscope
