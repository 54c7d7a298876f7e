// The layers of a job in the order they run, each with its masks, its request and what every strategy decided for it.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <span>

#include "backend/job/job.h"
#include "backend/job/layer_masks.h"
#include "backend/plan/request.h"
#include "backend/strategies/strategy.h"

namespace spscope {

// What one strategy does in a layer. A strategy that is not legal decides nothing.
struct LayerDecision {
  Decision decision;
  // Whether it was made anew at this denoise step from masks that are known; nullopt: the strategy never keeps one.
  std::optional<bool> decided;
  std::int64_t deciding_ns = 0;  // the layer's share of its step
};

// One layer at one denoise step of a job.
struct LayerOfJob {
  int denoise_step, layer;
  const LayerMasks& masks;
  const Request& request;
  std::span<const LayerDecision> decisions;  // by position in Job::strategies
};

// Called before each stage.
struct LayerStages {
  std::function<void(int denoise_step, int layer)> on_masks;  // its masks are made
  std::function<void(int strategy)> on_decide;                // of Job::strategies, for the layers of a step
};

// Every layer of every denoise step that runs, in order. With run.mask_lag = 1 and masks that evolve, a plan knows the
// mask of the step before, and nothing at the first step. Strategies that keep decisions decide for all layers of a
// step together, so a job of several steps holds the masks of all its layers. Ends early when `visit` returns false or
// `interrupt` is set while masks are made.
void for_each_layer(const Job& job, const MaskSource& source, const std::function<bool(const LayerOfJob&)>& visit,
                    const LayerStages& stages = {}, const std::atomic<bool>* interrupt = nullptr);

}  // namespace spscope
