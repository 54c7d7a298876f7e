// The imbalance of a division of heads and blocks on a mask, without a plan: the criterion of db-SP's decisions.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/strategies/strategy.h"

namespace spscope {

// Active (head, query, key) triples of tokens, by Ulysses index u, query group a and key group b, at [(u R + a) R + b].
// An empty list of the decision means even cuts in order.
std::vector<std::int64_t> tile_areas(const Request& request, const Decision& decision, MaskCounter& mask);

// The barrier ratio (backend/schedule/imbalance.h): ranks of a ring wait for each other after each ring step, rings do
// not. Rank a of a ring attends the keys of group (a - s) mod R in step s. 1 when nothing is active. Along the spread
// axis of the request only: decisions do not divide an axis that needs no communication.
double barrier_ratio(std::int64_t ring, const std::vector<std::int64_t>& tile_areas);

// The barrier ratio of a decision on the mask that is known (planned imbalance), 1 when none is known; and on the mask
// that runs (actual imbalance), equal to that of the plan made from the decision (backend/schedule/imbalance.h).
double decision_imbalance(const Request& request, const Decision& decision);
double executed_imbalance(const Request& request, const Decision& decision);

}  // namespace spscope
