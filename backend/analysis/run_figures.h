// The figures of stored runs: a run is one layer and denoise step of one strategy.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "backend/analysis/strategy_result.h"
#include "backend/schedule/imbalance.h"
#include "backend/store/records.h"

namespace spscope {

// The repeat with the median makespan; of an even number, the faster of the two in the middle, so that every time of a
// result belongs to one actual repeat. Absent when there are none.
std::optional<RepeatRecord> median_repeat(std::span<const RepeatRecord> repeats);

// When the makespan of a repeat begins, on the clock of its timeline: where it has one, its last op ends a makespan
// later. Of a pass that was scheduled after others (schedule/layer_passes.h) that is the end of the pass before: what
// ranks do earlier is beside that one. Else it is the first post.
std::int64_t makespan_begin_ns(const Timeline& timeline, const RunProvenance& provenance, const RepeatRecord& repeat);

// Half the distance between the quartiles, linearly interpolated, rounded to nanoseconds; absent for fewer than two.
std::optional<std::int64_t> half_interquartile_range(std::span<const RepeatRecord> repeats);

// Where a rank needs more in `layer` than in those before, that is what it needs.
void add_memory_need(MemoryNeed& need, const MemoryNeed& layer);

// Sets LayerResult::slowest_rank and slowest_excess from tiles; does nothing when there are none.
void set_slowest(LayerResult& layer, const std::vector<double>& tiles_by_rank);

struct StoredRun {
  RunRecord record;
  std::vector<RankUsage> usage;  // by rank
  std::vector<Traffic> traffic;
  std::vector<RepeatRecord> repeats;
  std::optional<ImbalanceRatios> imbalance;  // of the active pairs of its plan; absent when no plan is kept
  // The times of the median repeat by activity; empty when its timeline is not kept.
  RankTimes times;
  std::vector<std::int64_t> attention_ns;  // by rank
  MemoryNeed memory;                       // no ranks when no plan is kept
  PassDetail detail;
  TimeTerms path_terms;                            // of the critical path; the sum is the makespan
  std::vector<std::string> heads_by_rank;          // as StrategyResult::heads_by_rank
  std::optional<std::int64_t> attention_launches;  // absent when its timeline is not kept
  // Compute of its plan by the cost profile of the cluster, all ranks; absent when plan or profile is not kept.
  std::optional<double> modelled_compute_ns;
};

// Fills `times`, `attention_ns` and what follows them but modelled_compute_ns. Throws Error (kStoreCorrupt) when the
// timeline is not one of this plan.
void add_timeline(StoredRun& run, const Plan& plan, const Timeline& timeline, const TimeModels& models = {});

void set_imbalance(RunFigures& figures, const ImbalanceRatios& ratios);

// Adds the lists of a layer pass, as figures.def says of each.
void combine_pass(RankFigures& all, const RankFigures& pass);
// Sets the figures that follow from those of `by_layer`, as figures.def says of each, and the re-plans.
void combine_passes(StrategyResult& result);

// Sums up the runs: figures as combine_passes(), memory is the maximum, the verdict the worst (failed, then skipped).
// Times that only some runs have are absent. The speed-up is not set. REQUIRES: all runs are of this strategy; the
// lists of each run have one entry a rank.
StrategyResult summarize(const StrategyRecord& strategy, std::span<const StoredRun> runs);

}  // namespace spscope
