// Plan reuse over denoise steps, as in db-SP (arXiv 2511.23113): the decisions of all layers are kept while the
// imbalance of the known masks under them stays low on average over the layers; otherwise every layer decides anew.
#pragma once

#include <span>
#include <vector>

#include "backend/strategies/strategy.h"

namespace spscope {

class PlanReuse {
 public:
  // REQUIRES: the strategy outlives this.
  PlanReuse(const Strategy& strategy, Parameters parameters);

  // The decisions to use in the next denoise step, by layer; valid until the next call. `layers` are its requests, by
  // layer. REQUIRES: as many layers in every step, each legal.
  //
  // All layers decide at the first step, at the first one at which masks are known, and whenever the mean over layers
  // of decision_imbalance() exceeds Decision::keep_below; in every step when that is 0. A decision made with nothing
  // known is not a plan in the sense of num_plans(). Layers that follow each other and are alike (of one kind, with
  // dense masks or nothing known) decide once.
  std::span<const Decision> begin_step(std::span<const Request> layers);

  // Of the last step: whether the layers decided anew from known masks.
  bool decided() const { return decided_; }
  // Steps at which the layers decided from known masks; all but the first are re-plans.
  int num_plans() const { return num_plans_; }
  int num_replans() const { return num_plans_ > 0 ? num_plans_ - 1 : 0; }

 private:
  bool keeps(std::span<const Request> layers);

  const Strategy& strategy_;
  Parameters parameters_;
  std::vector<Decision> decisions_;
  bool decided_ = false;
  int num_plans_ = 0;
};

}  // namespace spscope
