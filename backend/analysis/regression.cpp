#include "backend/analysis/regression.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace spscope {
namespace {

const StrategyResult* same_strategy(const Comparison& in, const StrategyResult& wanted) {
  for (const StrategyResult& s : in.strategies)
    if (s.name == wanted.name && s.parameters == wanted.parameters && s.mode == wanted.mode) return &s;
  return nullptr;
}

bool oversubscribed(const StrategyResult& s) { return s.provenance && s.provenance->timing == Timing::kOversubscribed; }

Change change_of(const StrategyResult& before, const StrategyResult& after, double limit) {
  // The label of today, and the one before where layers were split otherwise.
  Change change{before.label == after.label ? after.label : fmt::format("{} (was {})", after.label, before.label),
                before.makespan_ns,
                after.makespan_ns,
                {},
                false,
                ""};
  const auto worse = [&](std::string why) {
    change.regression = true;
    change.note = std::move(why);
    return change;
  };
  if (before.legal() && !after.legal()) return worse("no longer legal: " + after.reason());
  if (before.verify == "passed" && after.verify == "failed") return worse("its outputs are no longer right");
  if (!before.makespan_ns || !after.makespan_ns) return change;
  if (oversubscribed(before) || oversubscribed(after)) {
    change.note = "timing is oversubscribed";
    return change;
  }
  const std::int64_t longer_ns = *after.makespan_ns - *before.makespan_ns;
  if (*before.makespan_ns > 0)
    change.slower_by = static_cast<double>(longer_ns) / static_cast<double>(*before.makespan_ns);
  const std::int64_t spread_ns = std::max(before.makespan_spread_ns.value_or(0), after.makespan_spread_ns.value_or(0));
  if (change.slower_by.value_or(0) > limit) {
    if (longer_ns > spread_ns) return worse("slower");
    change.note = "within the spread of its repeats";
  }
  return change;
}

// The modes of all strategies, in their order of declaration: "execute, simulate".
std::string modes_of(std::span<const Comparison> comparisons) {
  std::set<RunMode> modes;
  for (const Comparison& c : comparisons)
    for (const StrategyResult& s : c.strategies) modes.insert(s.mode);
  std::string names;
  for (RunMode mode : modes) names += (names.empty() ? "" : ", ") + std::string(choice_name(mode));
  return names;
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
  // Sums of the same numbers in another order.
  constexpr double kRounding = 1e-9;
  if (a.density && b.density && std::abs(*a.density - *b.density) > kRounding)
    compare("density", std::to_string(*a.density), std::to_string(*b.density));
  return found;
}

std::vector<Change> changes(const Comparison& before, const Comparison& after, double limit) {
  std::vector<Change> list;
  for (const StrategyResult& s : before.strategies)
    if (const StrategyResult* now = same_strategy(after, s)) list.push_back(change_of(s, *now, limit));
  return list;
}

std::string why_nothing_compared(std::span<const Comparison> before, std::span<const Comparison> after,
                                 std::span<const Change> changes) {
  const auto says_something = [](const Change& c) { return c.slower_by || c.regression; };
  if (std::ranges::any_of(changes, says_something)) return "";
  for (const Change& c : changes)
    if (!c.note.empty()) return c.note;
  if (!changes.empty()) return "no strategy has a time in both files";
  const std::string before_modes = modes_of(before), after_modes = modes_of(after);
  if (before_modes != after_modes) return "their modes differ: " + before_modes + " and " + after_modes;
  return "no strategy with the same parameters is in both files";
}

}  // namespace spscope
