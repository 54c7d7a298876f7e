// Regressions between two stored runs of the same workload.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/analysis/strategy_result.h"

namespace spscope {

// A strategy of the earlier comparison: same name, parameters and mode in the later one, if that has it.
struct Change {
  std::string label;                                // of the later run; of the earlier one when it has vanished
  std::string label_before;                         // "" for a strategy that only the later run has
  std::string label_after;                          // "" for one that has vanished
  std::optional<std::int64_t> before_ns, after_ns;  // makespan
  std::optional<double> slower_by;  // (after - before) / before; negative: faster; absent when times are not comparable
  // After minus before of compute, late peer, wire and other, means over ranks, whose sum is after_ns - before_ns.
  std::optional<std::array<std::int64_t, kNumTimeColumns>> parts_ns;
  bool within_spread = false;  // the makespans differ by no more than the larger spread of their repeats
  bool regression = false;
  bool certain = false;    // a regression that does not rest on times: it vanished, is illegal or wrong
  bool comparable = true;  // false: the times say nothing, for the reason in `note`
  std::string why;         // reason_text of a longer time; "" without one
  std::string note;        // why it is a regression, or why times are not comparable; else ""
};

// The first difference of two workloads: "model wan-mini and wan2.1-t2v-14b"; "" when their strategies can be compared.
std::string difference(const Workload& a, const Workload& b);

// Why the times of `was`, a strategy of `before`, and `is`, one of `after`, say nothing about each other: they are
// oversubscribed, other programs disturbed any of their run (trust.h), they are of other layers, or compute was
// measured on different processors. "" when they compare.
std::string why_not_comparable(const Comparison& before, const Comparison& after, const StrategyResult& was,
                               const StrategyResult& is);

// Whether a strategy of one run is that of another: same name, parameters and mode.
bool same_strategy(const StrategyResult& a, const StrategyResult& b);

// From `was`, a strategy of `before`, to the same one of `after`; `limit` as in changes(). The error of ratios of a
// model (ratio_error.h) is that of two different strategies and says nothing here.
Change change_of(const Comparison& before, const Comparison& after, const StrategyResult& was, const StrategyResult& is,
                 double limit);
// What the times say: "slower by 3.2 %", "faster by 3.2 %", "as fast: 0.4 % more is within the spread of the repeats".
// REQUIRES: slower_by.
std::string change_words(const Change& change);

// One change for each strategy of `before` that can run or that `after` has too, in order of `before`, then one for
// each that only `after` has. It is a regression when
//   its makespan grew by more than `limit` (0.05: 5 %) and by more than the larger spread of the two, or
//   its outputs were right and are wrong, or it was legal and is not, or it is not there any more.
// Times that do not compare (why_not_comparable) make none.
std::vector<Change> changes(const Comparison& before, const Comparison& after, double limit);

// The strategies of a comparison that has no counterpart, all of them vanished.
std::vector<Change> vanished(const Comparison& before);

// Why `changes`, all those between the two files, must neither pass nor fail by their times: the files have no strategy
// in common, or some times are not comparable. "" when all were compared, and when a certain regression decides.
std::string why_not_judged(std::span<const Comparison> before, std::span<const Comparison> after,
                           std::span<const Change> changes);

}  // namespace spscope
