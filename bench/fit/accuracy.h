// How far predicted times are from the measured ones: errors of times, of ratios between strategies, and the order of
// pairs of them.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bench/fit/evaluation.h"

namespace spscope {

// Pairs that were measured over 8 % apart.
struct PairsInOrder {
  int in_order = 0, all = 0;
};

struct Summary {
  int rows = 0, speedups = 0;
  PairsInOrder pairs, guidance_pairs;  // of strategies, and of settings that differ in guidance parallelism, too
  PairsInOrder called;                 // of both, those predicted to be as far apart as the median of their errors
  double median = 0, within_30 = 0, speedup = 0;
  std::map<std::string, std::pair<double, int>> by_machine;  // median error, rows
  // Median error of ratios between strategies, and pairs; the same of settings that differ in guidance parallelism.
  std::map<std::string, std::pair<double, int>> ratios, guidance_ratios;
};
// `seconds`: predicted, by row.
Summary summarize(const Evaluation& e, const std::vector<double>& seconds);
std::string summary_text(const Summary& s);

// Rows with one kind of link between GPUs and as many GPUs, and pairs_apart() among them.
struct GroupSummary {
  int rows = 0;
  PairsInOrder pairs, guidance_pairs;
  double median = 0, within_30 = 0;
};
// By link, "NVLink" or "PCIe", and the most GPUs of the group: 1, 2, 4 (3 and 4) and 8 (5 to 8).
std::map<std::pair<std::string, int>, GroupSummary> summarize_groups(const Evaluation& e,
                                                                     const std::vector<double>& seconds);

// "one GPU", "NVLink" or "PCIe".
std::string kind_of(const TimingRow& row);
// The same for ratios, with "PCIe, 2 GPUs" and "PCIe, more" for PCIe.
std::string ratio_kind_of(const TimingRow& row);

// Of which sources the ratios on this kind of machine are.
int sources_of_ratios(const Evaluation& e, const std::string& kind);

// "u2 r4 cfg2", "single".
std::string strategy_text(const RowModel& row);
// Rows of one source, model, shape and code on as many GPUs of one model, whose measured times are over 8 % apart.
struct StrategyPair {
  std::size_t one, other;
  double measured;     // time of one over that of the other
  bool same_guidance;  // as many guidance passes at once, so that they differ in the strategy alone
};
std::vector<StrategyPair> pairs_apart(const Evaluation& e);

// Lines of a table: such pairs that are predicted in the other order.
std::string misordered_text(const Evaluation& e, const std::vector<double>& seconds);

}  // namespace spscope
