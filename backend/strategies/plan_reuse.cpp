#include "backend/strategies/plan_reuse.h"

#include <algorithm>
#include <utility>

#include "backend/base/check.h"
#include "backend/strategies/decision_imbalance.h"
#include "backend/strategies/mesh_plan.h"

namespace spscope {
namespace {

bool anything_known(std::span<const Request> layers) {
  return std::ranges::any_of(layers, [](const Request& r) { return r.known_mask(spread_axis(r)) != nullptr; });
}

// Whether two layers are one to a strategy, as far as they are known: with the same blocks, and masks that are dense or
// not known.
bool alike(const Request& a, const Request& b) {
  const AttendedAxis axis = spread_axis(a);
  if (a.block != b.block || axis != spread_axis(b)) return false;
  const BlockMask &of_a = a.executed_mask(axis).mask(), &of_b = b.executed_mask(axis).mask();
  if (!std::ranges::equal(of_a.block_starts(), of_b.block_starts())) return false;
  if ((a.known_mask(axis) == nullptr) != (b.known_mask(axis) == nullptr)) return false;
  return a.known_mask(axis) == nullptr || (known_dense(a) && known_dense(b));
}

}  // namespace

PlanReuse::PlanReuse(const Strategy& strategy, Parameters parameters)
    : strategy_(strategy), parameters_(std::move(parameters)) {}

std::span<const Decision> PlanReuse::begin_step(std::span<const Request> layers) {
  SPSCOPE_CHECK(decisions_.empty() || decisions_.size() == layers.size());
  decided_ = false;
  if (keeps(layers)) return decisions_;
  decisions_.clear();
  for (std::size_t i = 0; i < layers.size(); ++i)
    decisions_.push_back(i > 0 && alike(layers[i - 1], layers[i]) ? decisions_.back()
                                                                  : strategy_.decide(layers[i], parameters_));
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
