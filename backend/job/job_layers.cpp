#include "backend/job/job_layers.h"

#include <algorithm>
#include <deque>
#include <future>

#include "backend/base/clock.h"
#include "backend/base/cores.h"
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
  int denoise_step = 0;
  std::vector<int> layers = {};
  std::vector<LayerMasks> masks = {};
  std::vector<Request> requests = {};
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
    if (!visit({batch.denoise_step, batch.layers[i], batch.masks[i], batch.requests[i], decisions})) return false;
  }
  return true;
}

std::vector<StrategyDecisions> begin_strategies(const Job& job, const Request& first) {
  std::vector<StrategyDecisions> strategies;
  for (const ChosenStrategy& chosen : job.strategies) strategies.emplace_back(chosen, first);
  return strategies;
}

// The masks of the passes of a job, in order. Making them takes most of the time of a simulation, so several are made
// ahead by other threads; measured times would be disturbed by that, so other modes make each when it is asked for.
class MasksAhead {
 public:
  MasksAhead(const Job& job, const MaskSource& source)
      : job_(job),
        source_(source),
        ahead_(job.config.run.mode == RunMode::kSimulate ? std::min(usable_cores(), kMostAhead) : 1) {}

  // Of the next pass.
  LayerMasks take() {
    const std::size_t passes = job_.layers.size() * static_cast<std::size_t>(job_.config.run.denoise_steps);
    while (next_ < passes && making_.size() < static_cast<std::size_t>(ahead_)) {
      const int step = static_cast<int>(next_ / job_.layers.size()), layer = job_.layers[next_ % job_.layers.size()];
      // With both policies: where no thread can be had, when it is asked for.
      const auto policy = ahead_ == 1 ? std::launch::deferred : std::launch::async | std::launch::deferred;
      making_.push_back(std::async(policy, [this, step, layer] { return source_.at(step, layer); }));
      ++next_;
    }
    LayerMasks masks = making_.front().get();
    making_.pop_front();
    return masks;
  }

 private:
  static constexpr int kMostAhead = 8;  // some 7 MB each for a large model
  const Job& job_;
  const MaskSource& source_;
  const int ahead_;
  std::size_t next_ = 0;
  std::deque<std::future<LayerMasks>> making_;
};

}  // namespace

void for_each_layer(const Job& job, const MaskSource& source, const std::function<bool(const LayerOfJob&)>& visit,
                    const LayerStages& stages, const std::atomic<bool>* interrupt) {
  const RunSection& run = job.config.run;
  const bool lagging = run.mask_lag > 0 && source.evolves();
  // In a single step nothing can be kept, so its layers need not be held together.
  const std::size_t num_layers = job.layers.size(), together = run.denoise_steps == 1 ? 1 : num_layers;
  std::vector<std::optional<LayerMasks>> last(num_layers);
  std::vector<StrategyDecisions> strategies;
  MasksAhead ahead(job, source);
  for (int step = 0; step < run.denoise_steps; ++step)
    for (std::size_t first = 0; first < num_layers; first += together) {
      Batch batch{step};
      for (std::size_t i = first; i < first + together; ++i) {
        const int layer = job.layers[i];
        if (interrupt != nullptr && interrupt->load()) return;
        if (stages.on_masks) stages.on_masks(step, layer);
        batch.layers.push_back(layer);
        batch.masks.push_back(ahead.take());
      }
      for (std::size_t i = 0; i < together; ++i) {
        const std::optional<LayerMasks>& before = last[first + i];
        const LayerMasks* known = !lagging ? &batch.masks[i] : before ? &*before : nullptr;
        batch.requests.push_back(make_layer_request(job, batch.layers[i], batch.masks[i], known));
      }
      if (step == 0) strategies = begin_strategies(job, batch.requests.front());
      if (!visit_batch(batch, strategies, stages, visit)) return;
      if (!lagging) continue;
      for (std::size_t i = 0; i < batch.masks.size(); ++i) last[first + i] = std::move(batch.masks[i]);
    }
}

}  // namespace spscope
