// Comparisons: the results of all strategies of a stored file.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "backend/analysis/strategy_result.h"
#include "backend/config/cluster.h"
#include "backend/store/store_reader.h"

namespace spscope {

// One comparison for each workload of the file, in stored order, from the file alone; none for a program that was
// observed (observation.h).
// `on_run` is told, after each layer pass of a strategy, how many of how many were read.
using OnRun = std::function<void(std::int64_t done, std::int64_t all)>;
std::vector<Comparison> compare_store(const StoreReader& reader, const OnRun& on_run = {});

// How complete the recording of the file is, and what went wrong.
Recording recording_of(const StoreReader& reader);

// What a file of thousands of layer passes tells at once: how long the passes of each strategy took. The same as
// makespan_ns, by_layer.size() and the slowest of by_layer of compare_store(), without plans and events.
struct StrategyMakespan {
  WorkloadId workload_id = {};
  std::string id, label;
  std::int64_t layer_passes = 0;
  std::optional<std::int64_t> makespan_ns;
  // Of the passes with a time, the first of the longest ones; absent when none has a time.
  struct Pass {
    int layer = 0, denoise_step = 0;
    std::int64_t makespan_ns = 0;
  };
  std::optional<Pass> slowest;
};
// Legal strategies, in stored order.
std::vector<StrategyMakespan> makespans(const StoreReader& reader);

// Sets `speedup` of each strategy: the makespan of the baseline of its mode, over its own. Absent where either timing
// is oversubscribed, since times of ranks that share cores are not comparable, and for wrong outputs.
void set_speedups(std::vector<StrategyResult>& strategies);

// The strategy that speed-ups of this mode are over: the first Ulysses. Where Ulysses was asked for and cannot run, the
// fastest USP, else the fastest ring; where there is none, or nobody asked, the first. It is legal, has a time and no
// wrong output; nullptr when there is none.
const StrategyResult* baseline(const std::vector<StrategyResult>& strategies, RunMode mode);

}  // namespace spscope
