// Regressions between two stored runs of the same workload.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/analysis/strategy_result.h"

namespace spscope {

// A strategy that both comparisons have: same name, parameters and mode.
struct Change {
  std::string label;
  std::optional<std::int64_t> before_ns, after_ns;  // makespan
  std::optional<double> slower_by;  // (after - before) / before; negative: faster; absent when times are not comparable
  bool regression = false;
  std::string note;  // why it is a regression, or why times are not comparable; else ""
};

// The first difference of two workloads: "model wan-mini and wan2.1-t2v-14b"; "" when their strategies can be compared.
std::string difference(const Workload& a, const Workload& b);

// One change for each strategy of `before` that `after` has too, in order of `before`. It is a regression when
//   its makespan grew by more than `limit` (0.05: 5 %) and by more than the larger spread of the two, or
//   its outputs were right and are wrong, or it was legal and is not.
// Oversubscribed times are not compared.
std::vector<Change> changes(const Comparison& before, const Comparison& after, double limit);

// Why none of `changes`, all those between the two files, compares times: the files have no strategy in common, or
// their times are not comparable. "" when at least one was compared.
std::string why_nothing_compared(std::span<const Comparison> before, std::span<const Comparison> after,
                                 std::span<const Change> changes);

}  // namespace spscope
