#include "backend/analysis/regression.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include "backend/analysis/mode_group.h"
#include "backend/analysis/reason.h"
#include "backend/analysis/trust.h"
#include "backend/base/listed.h"
#include "backend/base/number_text.h"

namespace spscope {
namespace {

const StrategyResult* find_same(const Comparison& in, const StrategyResult& wanted) {
  const auto found =
      std::ranges::find_if(in.strategies, [&](const StrategyResult& s) { return same_strategy(s, wanted); });
  return found == in.strategies.end() ? nullptr : &*found;
}

std::string machine_fact(const Comparison& c, const std::string& name) {
  const auto found = std::ranges::find(c.machine, name, &MachineLine::name);
  return found == c.machine.end() ? "" : found->value;
}

bool measured(const StrategyResult& s) { return s.provenance && s.provenance->compute == Source::kMeasured; }

// Why the times of a run say nothing: the first evidence that other programs disturbed any of its strategies.
std::string disturbance_of(const Comparison& c, RunMode mode) {
  for (const StrategyResult& s : c.strategies)
    if (s.mode == mode && s.legal())
      if (std::string why = disturbance(s); !why.empty()) return why;
  return "";
}

std::set<int> layers_of(const StrategyResult& s) {
  std::set<int> layers;
  for (const LayerResult& pass : s.by_layer) layers.insert(pass.layer);
  return layers;
}

Change vanished_change(const StrategyResult& s) {
  Change change;
  change.label = change.label_before = s.label;
  change.before_ns = s.makespan_ns;
  change.regression = change.certain = true;
  change.note = "not in the later run";
  return change;
}

// The modes of all strategies, in their order of declaration: "execute, simulate".
std::string modes_of(std::span<const Comparison> comparisons) {
  std::set<RunMode> modes;
  for (const Comparison& c : comparisons)
    for (const StrategyResult& s : c.strategies) modes.insert(s.mode);
  std::vector<std::string_view> names;
  for (RunMode mode : modes) names.push_back(choice_name(mode));
  return listed(names);
}

}  // namespace

std::string difference(const Workload& a, const Workload& b) {
  std::string found;
  const auto compare = [&](const char* what, const std::string& left, const std::string& right) {
    if (found.empty() && left != right) found = std::string(what) + " " + left + " and " + right;
  };
  const auto compare_counts = [&](const char* what, std::int64_t left, std::int64_t right) {
    compare(what, std::to_string(left), std::to_string(right));
  };
  compare("model", a.model, b.model);
  compare("pattern", a.pattern, b.pattern);
  compare("cluster", a.cluster, b.cluster);
  compare("scope", a.scope, b.scope);
  compare("dtype", std::string(dtype_name(a.dtype)), std::string(dtype_name(b.dtype)));
  compare_counts("tokens", a.tokens, b.tokens);
  compare_counts("blocks", a.blocks, b.blocks);
  compare_counts("heads", a.heads, b.heads);
  compare_counts("head_dim", a.head_dim, b.head_dim);
  compare_counts("batch", a.batch, b.batch);
  compare_counts("layers", a.layers, b.layers);
  compare_counts("denoise_steps", a.denoise_steps, b.denoise_steps);
  compare_counts("complete layer passes", a.layer_passes_done.value_or(0), b.layer_passes_done.value_or(0));
  compare_counts("ranks", a.ranks, b.ranks);
  compare_counts("nodes", a.nodes, b.nodes);
  compare_counts("guidance passes at once", a.guidance, b.guidance);
  compare_counts("replicas", a.data_parallel, b.data_parallel);
  compare_counts("forward passes", a.forward_passes, b.forward_passes);
  // Sums of the same numbers in another order.
  constexpr double kRounding = 1e-9;
  if (a.density && b.density && std::abs(*a.density - *b.density) > kRounding)
    compare("density", std::to_string(*a.density), std::to_string(*b.density));
  return found;
}

std::string why_not_comparable(const Comparison& before, const Comparison& after, const StrategyResult& was,
                               const StrategyResult& is) {
  if (oversubscribed(was) || oversubscribed(is)) return "timing is oversubscribed";
  for (const Comparison* c : {&before, &after})
    if (const std::string why = disturbance_of(*c, was.mode); !why.empty())
      return fmt::format("other programs disturbed the {} run: {}", c == &before ? "earlier" : "later", why);
  if (layers_of(was) != layers_of(is))
    return fmt::format("they ran other layers: {} before, {} after", listed(layers_of(was)), listed(layers_of(is)));
  if (!measured(was) && !measured(is)) return "";
  for (const char* fact : {"cpu", "cores"}) {
    const std::string a = machine_fact(before, fact), b = machine_fact(after, fact);
    if (a != b) return fmt::format("compute was measured on different machines: {} \"{}\" and \"{}\"", fact, a, b);
  }
  return "";
}

bool same_strategy(const StrategyResult& a, const StrategyResult& b) {
  return a.name == b.name && a.parameters == b.parameters && a.mode == b.mode;
}

Change change_of(const Comparison& before, const Comparison& after, const StrategyResult& was, const StrategyResult& is,
                 double limit) {
  Change change;
  change.label = is.label;
  change.label_before = was.label;
  change.label_after = is.label;
  change.before_ns = was.makespan_ns;
  change.after_ns = is.makespan_ns;
  const auto certain = [&](std::string why) {
    change.regression = change.certain = true;
    change.note = std::move(why);
    return change;
  };
  if (was.legal() && !is.legal()) return certain("no longer legal: " + is.reason());
  if (was.verify == "passed" && is.verify == "failed") return certain("its outputs are no longer right");
  if (!was.makespan_ns || !is.makespan_ns) {
    change.comparable = !was.makespan_ns;
    if (!change.comparable) change.note = "it has no time in the later run";
    return change;
  }
  if (std::string why = why_not_comparable(before, after, was, is); !why.empty()) {
    change.comparable = false;
    change.note = std::move(why);
    return change;
  }
  const std::int64_t longer_ns = *is.makespan_ns - *was.makespan_ns;
  if (*was.makespan_ns > 0) change.slower_by = static_cast<double>(longer_ns) / static_cast<double>(*was.makespan_ns);
  if (was.terms && is.terms) {
    const TimeTerms terms = *is.terms - *was.terms;
    change.parts_ns.emplace();
    for (int i = 0; i < kNumTimeColumns; ++i)
      (*change.parts_ns)[static_cast<std::size_t>(i)] = terms.of(static_cast<TimeColumn>(i));
  }
  const std::int64_t spread_ns = std::max(was.makespan_spread_ns.value_or(0), is.makespan_spread_ns.value_or(0));
  change.within_spread = std::abs(longer_ns) <= spread_ns;
  if (change.slower_by.value_or(0) <= limit) return change;
  change.regression = !change.within_spread;
  change.note = change.regression ? "slower" : "within the spread of its repeats";
  if (const auto reason = reason_for(is, was); change.regression && reason) change.why = reason_text(*reason, is, was);
  return change;
}

std::string change_words(const Change& change) {
  const std::string by = percent_text(std::abs(*change.slower_by));
  if (change.before_ns == change.after_ns) return "as fast, to the nanosecond";
  if (change.within_spread)
    return fmt::format("as fast: {} {} is within the spread of the repeats", by,
                       *change.slower_by > 0 ? "more" : "less");
  return fmt::format("{} by {}", *change.slower_by > 0 ? "slower" : "faster", by);
}

std::vector<Change> changes(const Comparison& before, const Comparison& after, double limit) {
  std::vector<Change> list;
  for (const StrategyResult& s : before.strategies) {
    if (const StrategyResult* now = find_same(after, s))
      list.push_back(change_of(before, after, s, *now, limit));
    else if (s.legal())
      list.push_back(vanished_change(s));
  }
  for (const StrategyResult& s : after.strategies) {
    if (find_same(before, s)) continue;
    Change change;
    change.label = change.label_after = s.label;
    change.after_ns = s.makespan_ns;
    change.note = "not in the earlier run";
    list.push_back(std::move(change));
  }
  return list;
}

std::vector<Change> vanished(const Comparison& before) {
  std::vector<Change> list;
  for (const StrategyResult& s : before.strategies)
    if (s.legal()) list.push_back(vanished_change(s));
  return list;
}

std::string why_not_judged(std::span<const Comparison> before, std::span<const Comparison> after,
                           std::span<const Change> changes) {
  const bool any_common =
      std::ranges::any_of(changes, [](const Change& c) { return !c.label_before.empty() && !c.label_after.empty(); });
  if (!any_common) {
    const std::string before_modes = modes_of(before), after_modes = modes_of(after);
    if (before_modes != after_modes)
      return fmt::format("their modes differ: {} before, {} after", before_modes, after_modes);
    return "no strategy with the same parameters is in both files";
  }
  if (std::ranges::any_of(changes, &Change::certain)) return "";
  for (const Change& c : changes)
    if (!c.comparable && c.after_ns) return c.note;
  if (std::ranges::none_of(changes, [](const Change& c) { return c.slower_by.has_value(); }))
    return "no strategy has a time in both files";
  for (const Change& c : changes)
    if (!c.comparable) return fmt::format("{}: {}", c.label, c.note);
  return "";
}

}  // namespace spscope
