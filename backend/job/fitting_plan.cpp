#include "backend/job/fitting_plan.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "backend/job/weight_gather.h"

namespace spscope {
namespace {

constexpr int kMostRanks = 128;  // that are tried
constexpr std::size_t kMostSettings = 4;

// Plans that cannot be made do not fit.
bool fits(const Job& job, const Strategy& strategy, const Request& request, const Parameters& parameters,
          WeightLayout weights) {
  const Result<Plan> plan = capture([&] { return make_plan(strategy, request, parameters); });
  return plan && memory_need(*plan, job.model, weights, job.cluster.preset.device).fits();
}

bool some_setting_fits(const Job& job, const ChosenStrategy& chosen, const Request& request, WeightLayout weights) {
  const Strategy& strategy = *chosen.strategy;
  if (strategy.legal(request, chosen.parameters).empty())
    return fits(job, strategy, request, chosen.parameters, weights);
  const std::vector<Parameters> settings = strategy.candidates(request);
  for (std::size_t i = 0; i < std::min(settings.size(), kMostSettings); ++i)
    if (fits(job, strategy, request, settings[i], weights)) return true;
  return false;
}

std::string what_fits(const Job& job, const ChosenStrategy& chosen, const Request& request,
                      const PlannedLayer& planned) {
  const DeviceProfile& device = job.cluster.preset.device;
  const WeightLayout weights = job.config.run.weights;
  if (weights == WeightLayout::kReplicated &&
      memory_need(planned.plan, planned.memory_bound_bytes, job.model, WeightLayout::kSharded, device).fits())
    return "it fits with run.weights = sharded, where each rank keeps a part of the weights; gathering them is in no "
           "time: " +
           gather_text(weight_gather(job));
  if (const std::optional<int> ranks = fits_from_ranks(job, chosen, request, weights, kMostRanks))
    return fmt::format("fits from {} ranks", *ranks);
  if (weights == WeightLayout::kReplicated)
    if (const std::optional<int> ranks = fits_from_ranks(job, chosen, request, WeightLayout::kSharded, kMostRanks))
      return fmt::format("fits from {} ranks with run.weights = sharded", *ranks);
  return fmt::format("it fits with no number of ranks up to {}: use another strategy, fewer tokens or a smaller batch",
                     kMostRanks);
}

}  // namespace

std::optional<int> fits_from_ranks(const Job& job, const ChosenStrategy& chosen, const Request& request,
                                   WeightLayout weights, int most) {
  Request larger = request;
  while (larger.ranks <= most / 2) {
    larger.ranks *= 2;
    if (some_setting_fits(job, chosen, larger, weights)) return larger.ranks;
  }
  return std::nullopt;
}

Result<PlannedLayer> try_plan_fitting(const Job& job, const ChosenStrategy& chosen, const Request& request,
                                      const LayerDecision& decision) {
  Result<PlannedLayer> planned = try_plan_layer(chosen, request, decision);
  if (!planned) return planned;
  planned->memory = memory_need(planned->plan, planned->memory_bound_bytes, job.model, job.config.run.weights,
                                job.cluster.preset.device);
  if (planned->memory.fits()) return planned;
  return Error(ErrorCode::kMemoryNeed, memory_sentence(planned->memory), what_fits(job, chosen, request, *planned));
}

}  // namespace spscope
