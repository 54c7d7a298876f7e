// Strategies that come to the same: on masks that give every rank the same work, ways to balance it change nothing, and
// USP of one degree alone is Ulysses or a ring.
#pragma once

#include <string>
#include <vector>

#include "backend/analysis/strategy_result.h"

namespace spscope {

// Whether one of the two balances or is USP, both divide the ranks alike, and they differ in times, bytes and tiles of
// each rank by less than where blocks end: kSamePlan of them. False for those that cannot run or have no times.
bool equal_plans(const StrategyResult& a, const StrategyResult& b);
inline constexpr double kSamePlan = 0.002;

// "ulysses u4" of "ulysses u4 = snake": the label without those of equal plans.
std::string own_label(const StrategyResult& strategy);

// Of strategies with equal plans one stays, where the first of them was: Ulysses or a ring, else that first one. Its
// label names the others: "ulysses u4 = snake = dbsp refine".
Comparison without_equal_plans(Comparison comparison);

}  // namespace spscope
