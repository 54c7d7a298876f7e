#include "backend/study/what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>
#include <map>

#include "backend/analysis/equal_plans.h"
#include "backend/analysis/judgement.h"
#include "backend/base/listed.h"
#include "backend/base/nearest_name.h"
#include "backend/base/number_text.h"
#include "backend/report/conclusion.h"
#include "backend/report/section.h"

namespace spscope {
namespace {

struct FactorName {
  std::string_view name, help;
  double ClusterFactors::*member;  // nullptr: the density
};
constexpr FactorName kNames[] = {{"link", "rate inside a node", &ClusterFactors::link},
                                 {"nic", "rate between nodes", &ClusterFactors::nic},
                                 {"latency", "time before the first byte", &ClusterFactors::latency},
                                 {"kernel", "rate of attention", &ClusterFactors::kernel},
                                 {"gemm", "rate of matrix products", &ClusterFactors::gemm},
                                 {"memory", "rate of device memory", &ClusterFactors::memory},
                                 {"density", "density of the masks, not a factor", nullptr}};
constexpr std::string_view kDegrees[] = {"ulysses", "ring", "ranks", "guidance", "dp"};
constexpr double kLeast = 1e-3, kMost = 1e3;

Problem bad_what_if(std::string message, std::string hint) {
  return {ErrorCode::kUsage, "", "--what-if: " + std::move(message), std::move(hint), {}};
}

// `given`: the numbers so far, as they were written, by name.
void read_item(std::string_view item, WhatIf& what_if, std::map<std::string_view, std::string_view>& given,
               std::vector<Problem>& problems) {
  const std::size_t equals = std::min(item.find('='), item.size());
  const std::string_view name = item.substr(0, equals);
  const auto found = std::ranges::find(kNames, name, &FactorName::name);
  if (found == std::end(kNames)) {
    std::vector<std::string_view> names;
    for (const FactorName& n : kNames) names.push_back(n.name);
    const std::string near = nearest_name(name, names);
    const bool is_degree = std::ranges::find(kDegrees, name) != std::end(kDegrees);
    problems.push_back(bad_what_if(
        fmt::format("there is no \"{}\"", name),
        is_degree      ? "ask about other degrees with -s usp:ulysses=2,ring=4, --ranks or --set cluster.guidance=1"
        : near.empty() ? fmt::format("use NAME=NUMBER of {}", fmt::join(names, ", "))
                       : fmt::format("did you mean \"{}\"?", near)));
    return;
  }
  const std::string_view text = equals < item.size() ? item.substr(equals + 1) : "";
  if (const auto [first, is_new] = given.try_emplace(name, text); !is_new) {
    problems.push_back(bad_what_if(fmt::format("{} is given twice, as \"{}\" and as \"{}\"", name, first->second, text),
                                   fmt::format("give {} once", name)));
    return;
  }
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = error == std::errc() && end == text.data() + text.size() && !text.empty();
  const bool is_density = found->member == nullptr;
  const double least = is_density ? 0 : kLeast, most = is_density ? 1 : kMost;
  if (!is_number || !(value >= least && value <= most) || value == 0) {
    problems.push_back(
        bad_what_if(fmt::format("\"{}\" is not a number {} of {}", text,
                                is_density ? "above 0 and at most 1" : "from 0.001 to 1000", name),
                    fmt::format("{}: {}, as {}={}", name, found->help, name, is_density ? "0.2" : "0.5")));
    return;
  }
  if (is_density)
    what_if.density = value;
  else
    what_if.factors.*(found->member) = value;
}

std::optional<Judgement> judgement_if_any(const Comparison& c) {
  const std::vector<ModeGroup> groups = by_mode(c);
  return groups.empty() ? std::nullopt : std::optional(judge(groups.front()));
}

const StrategyResult* fastest(const Comparison& c) {
  const std::optional<Judgement> judgement = judgement_if_any(c);
  return judgement && !judgement->ranked.empty() ? judgement->ranked.front() : nullptr;
}

// " Too close to call: ring r4 and snake u4 are slower by less than 5.8 % of a whole layer.", where it is not clearly
// the fastest; else "".
std::string tie_text(const Comparison& c) {
  const std::optional<Judgement> judgement = judgement_if_any(c);
  if (!judgement || judgement->level < 2 || !judgement->error) return "";
  std::vector<std::string> names;
  for (int i = 1; i < judgement->level; ++i)
    names.push_back(own_label(*judgement->ranked[static_cast<std::size_t>(i)]));
  return fmt::format(" Too close to call: {} {} slower by less than {}.", listed(names),
                     names.size() == 1 ? "is" : "are", limit_text(*judgement));
}

Cell change_cell(std::optional<std::int64_t> now, std::optional<std::int64_t> then) {
  if (!now || !then || *now <= 0) return text_cell("");
  return text_cell(fmt::format("{:+.1f} %", 100 * (static_cast<double>(*then) / static_cast<double>(*now) - 1)));
}

// What makes the fastest slower than it is, or as it is slower than it would be.
std::string why_changed(const Comparison& now, const Comparison& then, const WhatIf& what_if, OfPasses of) {
  const StrategyResult* before = fastest(now);
  const StrategyResult* after = before == nullptr ? nullptr : then.find(before->id);
  if (after == nullptr || !after->makespan_ns) return "";
  const bool slower = *after->makespan_ns > *before->makespan_ns;
  const StrategyResult &one = slower ? *after : *before, &other = slower ? *before : *after;
  const std::optional<Reason> reason = reason_for(one, other);
  if (!reason) return "";
  const ReasonWords words = reason_words(*reason, one, other, of);
  return fmt::format("{} {}{} takes {} more{}.", slower ? "With " + what_if.text : "As it is,",
                     of == OfPasses::kMean ? "a layer of " : "", own_label(one), words.more, words.why.text);
}

// Whether the model cannot tell the strategy from the fastest.
bool tied_with_fastest(const Comparison& c, const std::string& id) {
  const std::optional<Judgement> judgement = judgement_if_any(c);
  for (int i = 0; judgement && i < judgement->level; ++i)
    if (judgement->ranked[static_cast<std::size_t>(i)]->id == id) return true;
  return false;
}

std::string outcome(const Comparison& now, const Comparison& then, const WhatIf& what_if) {
  const StrategyResult *before = fastest(now), *after = fastest(then);
  if (before == nullptr || after == nullptr) return "";
  if (before->name == after->name)
    return fmt::format("With {}, {} stays fastest{}.{}", what_if.text,
                       own_label(*before) == own_label(*after) ? own_label(*before) : before->name,
                       own_label(*before) == own_label(*after)
                           ? ""
                           : fmt::format(", with {} instead of {}", own_label(*after), own_label(*before)),
                       tie_text(then));
  if (tied_with_fastest(then, before->id))
    return fmt::format("With {}, {} comes first.{}", what_if.text, own_label(*after), tie_text(then));
  const StrategyResult* old_one = then.find(before->id);
  std::string by;
  if (old_one != nullptr && old_one->makespan_ns && *after->makespan_ns > 0)
    by = fmt::format(
        ", by {}",
        percent_text(static_cast<double>(*old_one->makespan_ns) / static_cast<double>(*after->makespan_ns) - 1));
  return fmt::format("With {}, {} is fastest in place of {}{}.{}", what_if.text, own_label(*after), own_label(*before),
                     by, tie_text(then));
}

}  // namespace

WhatIf parse_what_if(std::string_view text) {
  WhatIf what_if;
  what_if.text = text;
  std::map<std::string_view, std::string_view> given;
  std::vector<Problem> problems;
  for (std::size_t begin = 0, end = 0; end != std::string_view::npos; begin = end + 1) {
    end = text.find(',', begin);
    read_item(text.substr(begin, end - begin), what_if, given, problems);
  }
  if (!problems.empty()) throw Error(std::move(problems));
  return what_if;
}

Job supposed(const Job& job, const WhatIf& what_if) {
  if (job.config.run.mode != RunMode::kSimulate)
    throw Error(ErrorCode::kUsage, "--what-if changes numbers that a model reads, and these times are measured",
                "add --set run.mode=simulate");
  if (what_if.density && !job.config.mask.file.empty())
    throw Error(ErrorCode::kUsage, "--what-if: the masks come from a file, which has a density of its own",
                "leave density out, or mask.file");
  Job other = job;
  other.cluster.preset = scaled(job.cluster.preset, what_if.factors);
  if (what_if.density) other.config.mask.density = *what_if.density;
  return other;
}

Section what_if_section(const Comparison& all_now, const Comparison& all_then, const WhatIf& what_if, OfPasses of) {
  const Comparison as_it_is = without_equal_plans(all_now), then = without_equal_plans(all_then);
  Section section{"what-if", "What if " + what_if.text, {}};
  Table table;
  table.columns = {text_column("strategy"),      {of == OfPasses::kMean ? "layer as it is" : "as it is", "makespan"},
                   {"what if", "makespan"},      {"change", "speedup"},
                   {"end to end", "end_to_end"}, {"what if", "end_to_end"},
                   {"change", "end_to_end"},     text_column("setting then")};
  // None where one that was asked for cannot run.
  const std::optional<Judgement> judgement = judgement_if_any(then);
  const StrategyResult* best = judgement && judgement->refused.empty() ? fastest(then) : nullptr;
  // The fastest first, as in tables of it as it is; those that cannot run then or now last.
  std::vector<const StrategyResult*> rows;
  for (const StrategyResult& s : as_it_is.strategies) rows.push_back(&s);
  std::ranges::stable_sort(rows, {}, [](const StrategyResult* s) {
    return s->legal() && s->makespan_ns ? *s->makespan_ns : std::numeric_limits<std::int64_t>::max();
  });
  for (const StrategyResult* s : rows) {
    const StrategyResult* other = all_then.find(s->id);
    if (other == nullptr || (!s->legal() && !other->legal())) continue;
    const auto passes = [&](const StrategyResult& r) {
      const auto count = static_cast<std::int64_t>(of == OfPasses::kMean ? r.by_layer.size() : 1);
      return duration_cell(r.makespan_ns ? std::optional(*r.makespan_ns / std::max<std::int64_t>(1, count))
                                         : std::nullopt);
    };
    const bool same_setting = own_label(*s) == other->label;
    table.rows.push_back(
        {{text_cell(own_label(*s)), passes(*s), passes(*other), change_cell(s->makespan_ns, other->makespan_ns),
          duration_cell(s->end_to_end_ns), duration_cell(other->end_to_end_ns),
          change_cell(s->end_to_end_ns, other->end_to_end_ns), text_cell(same_setting ? "" : other->label)},
         best != nullptr && other->id == best->id});
  }
  drop_empty_columns(table);
  note_attention_alone(table, as_it_is.workload);
  section.blocks.push_back(std::move(table));
  if (std::string text = outcome(as_it_is, then, what_if); !text.empty())
    section.blocks.push_back(Paragraph{std::move(text), Tone::kConclusion});
  if (std::string text = why_changed(as_it_is, then, what_if, of); !text.empty())
    section.blocks.push_back(Paragraph{std::move(text), Tone::kReason});
  return section;
}

}  // namespace spscope
