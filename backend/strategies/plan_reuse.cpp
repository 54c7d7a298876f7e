#include "backend/strategies/plan_reuse.h"

#include <algorithm>
#include <utility>

#include "backend/base/check.h"
#include "backend/strategies/decision_imbalance.h"
#include "backend/strategies/sharding.h"

namespace spscope {
namespace {

bool anything_known(std::span<const Request> layers) {
  return std::ranges::any_of(layers, [](const Request& r) { return r.known_mask(spread_axis(r)) != nullptr; });
}

}  // namespace

PlanReuse::PlanReuse(const Strategy& strategy, Parameters parameters)
    : strategy_(strategy), parameters_(std::move(parameters)) {}

std::span<const Decision> PlanReuse::begin_step(std::span<const Request> layers) {
  SPSCOPE_CHECK(decisions_.empty() || decisions_.size() == layers.size());
  decided_ = false;
  if (keeps(layers)) return decisions_;
  decisions_.clear();
  for (const Request& request : layers) decisions_.push_back(strategy_.decide(request, parameters_));
  decided_ = anything_known(layers);
  num_plans_ += decided_ ? 1 : 0;
  return decisions_;
}

bool PlanReuse::keeps(std::span<const Request> layers) {
  if (decisions_.empty()) return false;
  if (!anything_known(layers)) return true;
  if (num_plans_ == 0 || decisions_.front().keep_below == 0) return false;
  double sum = 0;
  for (std::size_t layer = 0; layer < layers.size(); ++layer)
    sum += decision_imbalance(layers[layer], decisions_[layer]);
  return sum / static_cast<double>(layers.size()) <= decisions_.front().keep_below;
}

}  // namespace spscope
