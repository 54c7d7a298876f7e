// Comparisons: the results of all strategies of a stored file.
#pragma once

#include <vector>

#include "backend/analysis/strategy_result.h"
#include "backend/config/cluster.h"
#include "backend/store/store_reader.h"

namespace spscope {

// One comparison for each workload of the file, in stored order, from the file alone.
std::vector<Comparison> compare_store(const StoreReader& reader);

// Sets `speedup` of each strategy: the makespan of the baseline of its mode, over its own. Absent where either timing
// is oversubscribed, since times of ranks that share cores are not comparable, and for wrong outputs.
void set_speedups(std::vector<StrategyResult>& strategies);

// The strategy that speed-ups of this mode are against: the first legal one that has a time and no wrong output;
// nullptr when there is none.
const StrategyResult* baseline(const std::vector<StrategyResult>& strategies, RunMode mode);

}  // namespace spscope
