#include "bench/fit/accuracy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

namespace spscope {
namespace {

constexpr double kApart = 1.08;  // a ratio of measured times from which on their order counts

// Of errors: of an even number the larger of the two in the middle, so that it does not look smaller than it is.
double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[values.size() / 2];
}

// Rows of one source, model, shape and code on one GPU model: those whose times are ratios of settings.
std::string series_of(const TimingRow& row) {
  return fmt::format("{}|{}|{}|{}|{}x{}|{}|{}|{}", row.source, row.gpu, row.interconnect, row.model, row.width,
                     row.height, row.frames, row.software, row.implementation);
}

// Adds each pair of pairs_apart() to the count that `count_of` names for it and its predicted ratio; nullptr: to none.
void count_pairs(const Evaluation& e, const std::vector<double>& seconds,
                 const std::function<PairsInOrder*(const StrategyPair& pair, double ratio)>& count_of) {
  for (const StrategyPair& pair : pairs_apart(e)) {
    const double ratio = seconds[pair.one] / seconds[pair.other];
    PairsInOrder* count = count_of(pair, ratio);
    if (count == nullptr) continue;
    ++count->all;
    count->in_order += (pair.measured > 1) == (ratio > 1);
  }
}

}  // namespace

std::string kind_of(const TimingRow& row) { return row.gpus == 1 ? "one GPU" : row.nvlink() ? "NVLink" : "PCIe"; }

std::string ratio_kind_of(const TimingRow& row) {
  const std::string kind = kind_of(row);
  return kind != "PCIe" ? kind : row.gpus == 2 ? "PCIe, 2 GPUs" : "PCIe, more";
}

int sources_of_ratios(const Evaluation& e, const std::string& kind) {
  std::set<std::string> sources;
  for (const RowModel& a : e.rows)
    for (const RowModel& b : e.rows)
      if (&a != &b && ratio_kind_of(a.row()) == kind && a.row().gpus == b.row().gpus &&
          a.row().cfg_parallel == b.row().cfg_parallel && series_of(a.row()) == series_of(b.row()))
        sources.insert(a.row().source);
  return static_cast<int>(sources.size());
}

Summary summarize(const Evaluation& e, const std::vector<double>& seconds) {
  Summary s;
  std::vector<double> errors, speedups;
  std::map<std::string, std::vector<double>> by_machine, ratios, guidance_ratios;
  for (std::size_t i = 0; i < e.rows.size(); ++i) {
    const TimingRow& a = e.rows[i].row();
    errors.push_back(std::abs(seconds[i] / a.seconds - 1));
    by_machine[kind_of(a)].push_back(errors.back());
    for (std::size_t j = 0; j < e.rows.size(); ++j) {
      const TimingRow& b = e.rows[j].row();
      if (i == j || series_of(a) != series_of(b)) continue;
      const double measured = a.seconds / b.seconds, ratio = seconds[i] / seconds[j];
      if (a.gpus == 1 && b.gpus == 8 && b.nvlink()) speedups.push_back(std::abs(ratio / measured - 1));
      if (j < i || a.gpus != b.gpus) continue;
      auto& list = a.cfg_parallel == b.cfg_parallel ? ratios : guidance_ratios;
      list[ratio_kind_of(a)].push_back(std::exp(std::abs(std::log(ratio / measured))) - 1);
    }
  }
  s.rows = static_cast<int>(errors.size());
  s.within_30 = static_cast<double>(std::ranges::count_if(errors, [](double x) { return x <= 0.3; })) / s.rows;
  s.median = median_of(errors);
  s.speedups = static_cast<int>(speedups.size());
  s.speedup = median_of(speedups);
  for (const auto& [kind, list] : by_machine) s.by_machine[kind] = {median_of(list), static_cast<int>(list.size())};
  for (const auto& [kind, list] : ratios) s.ratios[kind] = {median_of(list), static_cast<int>(list.size())};
  for (const auto& [kind, list] : guidance_ratios)
    s.guidance_ratios[kind] = {median_of(list), static_cast<int>(list.size())};
  count_pairs(e, seconds,
              [&](const StrategyPair& pair, double) { return &(pair.same_guidance ? s.pairs : s.guidance_pairs); });
  count_pairs(e, seconds, [&](const StrategyPair& pair, double ratio) {
    const auto& error = (pair.same_guidance ? s.ratios : s.guidance_ratios).at(ratio_kind_of(e.rows[pair.one].row()));
    return std::max(ratio, 1 / ratio) >= 1 + error.first ? &s.called : nullptr;
  });
  return s;
}

std::map<std::pair<std::string, int>, GroupSummary> summarize_groups(const Evaluation& e,
                                                                     const std::vector<double>& seconds) {
  const auto group_of = [](const TimingRow& r) {
    return std::pair(std::string(r.nvlink() ? "NVLink" : "PCIe"), r.gpus <= 2 ? r.gpus : r.gpus <= 4 ? 4 : 8);
  };
  std::map<std::pair<std::string, int>, std::vector<double>> errors;
  for (std::size_t i = 0; i < e.rows.size(); ++i)
    errors[group_of(e.rows[i].row())].push_back(std::abs(seconds[i] / e.rows[i].row().seconds - 1));
  std::map<std::pair<std::string, int>, GroupSummary> groups;
  for (const auto& [group, list] : errors) {
    GroupSummary& s = groups[group];
    s.rows = static_cast<int>(list.size());
    s.median = median_of(list);
    s.within_30 = static_cast<double>(std::ranges::count_if(list, [](double x) { return x <= 0.3; })) / s.rows;
  }
  count_pairs(e, seconds, [&](const StrategyPair& pair, double) {
    GroupSummary& s = groups[group_of(e.rows[pair.one].row())];
    return &(pair.same_guidance ? s.pairs : s.guidance_pairs);
  });
  return groups;
}

std::string strategy_text(const RowModel& row) {
  const TimingRow& r = row.row();
  std::string text = r.gpus == 1 ? "single" : "";
  if (r.ulysses > 1) text += fmt::format("u{} ", r.ulysses);
  if (r.ring > 1) text += fmt::format("{}{} ", r.other_parallel == "all-gather KV" ? "gather" : "r", r.ring);
  if (r.cfg_parallel > 1) text += fmt::format("cfg{} ", r.cfg_parallel);
  if (text.ends_with(' ')) text.pop_back();
  return text;
}

std::vector<StrategyPair> pairs_apart(const Evaluation& e) {
  std::vector<StrategyPair> pairs;
  for (std::size_t i = 0; i < e.rows.size(); ++i)
    for (std::size_t j = i + 1; j < e.rows.size(); ++j) {
      const TimingRow &a = e.rows[i].row(), &b = e.rows[j].row();
      const double measured = a.seconds / b.seconds;
      if (series_of(a) == series_of(b) && a.gpus == b.gpus && std::max(measured, 1 / measured) > kApart)
        pairs.push_back({i, j, measured, a.cfg_parallel == b.cfg_parallel});
    }
  return pairs;
}

std::string misordered_text(const Evaluation& e, const std::vector<double>& seconds) {
  std::string text;
  for (const StrategyPair& pair : pairs_apart(e)) {
    const RowModel &one = e.rows[pair.one], &other = e.rows[pair.other];
    const double ratio = seconds[pair.one] / seconds[pair.other];
    if ((pair.measured > 1) != (ratio > 1))
      text += fmt::format("| {} {} | {} {} | {} {} | {:.2f} | {:.2f} |\n", one.row().gpus, one.row().gpu, one.row().id,
                          strategy_text(one), other.row().id, strategy_text(other), pair.measured, ratio);
  }
  return text;
}

std::string summary_text(const Summary& s) {
  std::string text = fmt::format(
      "{} rows: median error {:.1f} %, {:.0f} % within 30 %; speed-up from 1 to 8 GPUs over NVLink {:.1f} % ({} "
      "series); {} of {} pairs of strategies in order, {} of {} that differ in guidance parallelism\n",
      s.rows, 100 * s.median, 100 * s.within_30, 100 * s.speedup, s.speedups, s.pairs.in_order, s.pairs.all,
      s.guidance_pairs.in_order, s.guidance_pairs.all);
  for (const auto& [kind, error] : s.by_machine)
    text += fmt::format("  {}: {:.1f} % ({} rows)\n", kind, 100 * error.first, error.second);
  for (const auto& [kind, error] : s.ratios)
    text += fmt::format("  ratios, {}: {:.1f} % ({} pairs)\n", kind, 100 * error.first, error.second);
  return text;
}

}  // namespace spscope
