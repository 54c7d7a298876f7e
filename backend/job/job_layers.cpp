#include "backend/job/job_layers.h"

#include "backend/base/clock.h"
#include "backend/job/layer_request.h"
#include "backend/strategies/plan_reuse.h"

namespace spscope {
namespace {

// What one strategy decides over the steps of a job.
class StrategyDecisions {
 public:
  StrategyDecisions(const ChosenStrategy& chosen, const Request& first)
      : reuse_(*chosen.strategy, chosen.parameters), legal_(chosen.strategy->legal(first, chosen.parameters).empty()) {}

  void begin_step(std::span<const Request> layers) {
    if (!legal_) return;
    const std::int64_t begin = now_ns();
    decisions_ = reuse_.begin_step(layers);
    deciding_ns_ = (now_ns() - begin) / static_cast<std::int64_t>(layers.size());
  }
  LayerDecision of(std::size_t layer) const {
    LayerDecision made;
    if (!legal_) return made;
    made.decision = decisions_[layer];
    if (made.decision.keep_below > 0) made.decided = reuse_.decided();
    made.deciding_ns = deciding_ns_;
    return made;
  }

 private:
  PlanReuse reuse_;
  bool legal_;
  std::span<const Decision> decisions_;
  std::int64_t deciding_ns_ = 0;
};

// Layers that decide together.
struct Batch {
  int denoise_step = 0, first_layer = 0;
  std::vector<LayerMasks> masks;
  std::vector<Request> requests;
};

bool visit_batch(const Batch& batch, std::vector<StrategyDecisions>& strategies, const LayerStages& stages,
                 const std::function<bool(const LayerOfJob&)>& visit) {
  for (std::size_t i = 0; i < strategies.size(); ++i) {
    if (stages.on_decide) stages.on_decide(static_cast<int>(i));
    strategies[i].begin_step(batch.requests);
  }
  for (std::size_t i = 0; i < batch.requests.size(); ++i) {
    std::vector<LayerDecision> decisions;
    for (const StrategyDecisions& strategy : strategies) decisions.push_back(strategy.of(i));
    if (!visit({batch.denoise_step, batch.first_layer + static_cast<int>(i), batch.masks[i], batch.requests[i],
                decisions}))
      return false;
  }
  return true;
}

std::vector<StrategyDecisions> begin_strategies(const Job& job, const Request& first) {
  std::vector<StrategyDecisions> strategies;
  for (const ChosenStrategy& chosen : job.strategies) strategies.emplace_back(chosen, first);
  return strategies;
}

}  // namespace

void for_each_layer(const Job& job, const MaskSource& source, const std::function<bool(const LayerOfJob&)>& visit,
                    const LayerStages& stages, const std::atomic<bool>* interrupt) {
  const RunSection& run = job.config.run;
  const bool lagging = run.mask_lag > 0 && source.evolves();
  // In a single step nothing can be kept, so its layers need not be held together.
  const int together = run.denoise_steps == 1 ? 1 : run.layers;
  std::vector<std::optional<LayerMasks>> last(static_cast<std::size_t>(run.layers));
  std::vector<StrategyDecisions> strategies;
  for (int step = 0; step < run.denoise_steps; ++step)
    for (int first = 0; first < run.layers; first += together) {
      Batch batch{step, first, {}, {}};
      for (int layer = first; layer < first + together; ++layer) {
        if (interrupt != nullptr && interrupt->load()) return;
        if (stages.on_masks) stages.on_masks(step, layer);
        const std::optional<LayerMasks>& before = last[static_cast<std::size_t>(layer)];
        batch.masks.push_back(source.at(step, layer));
        const LayerMasks* known = !lagging ? &batch.masks.back() : before ? &*before : nullptr;
        batch.requests.push_back(make_layer_request(job, layer, batch.masks.back(), known));
      }
      if (step == 0) strategies = begin_strategies(job, batch.requests.front());
      if (!visit_batch(batch, strategies, stages, visit)) return;
      if (!lagging) continue;
      for (std::size_t i = 0; i < batch.masks.size(); ++i)
        last[static_cast<std::size_t>(first) + i] = std::move(batch.masks[i]);
    }
}

}  // namespace spscope
