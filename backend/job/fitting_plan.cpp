#include "backend/job/fitting_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "backend/job/weight_gather.h"

namespace spscope {
namespace {

constexpr int kMostRanks = 128;  // that are tried
constexpr std::size_t kMostSettings = 4;

// Without a network between nodes there are no more ranks than GPUs in one.
int most_ranks(const Job& job, const Request& request) {
  const ClusterPreset& preset = job.cluster.preset;
  if (preset.network.nic_gbps > 0 || preset.gpus_per_node <= 0) return kMostRanks;
  return std::min(kMostRanks, preset.gpus_per_node * request.ranks / std::max(1, job.cluster.ranks));
}

// Plans that cannot be made do not fit.
bool fits(const Job& job, const Strategy& strategy, const Request& request, const Parameters& parameters,
          const RunSection& run) {
  const Result<Plan> plan = capture([&] { return make_plan(strategy, request, parameters); });
  return plan && memory_need(*plan, job.model, run, job.cluster.preset, job.plans_at_once()).fits();
}

bool some_setting_fits(const Job& job, const ChosenStrategy& chosen, const Request& request, const RunSection& run) {
  const Strategy& strategy = *chosen.strategy;
  if (strategy.legal(request, chosen.parameters).empty()) return fits(job, strategy, request, chosen.parameters, run);
  const std::vector<Parameters> settings = strategy.candidates(request);
  for (std::size_t i = 0; i < std::min(settings.size(), kMostSettings); ++i)
    if (fits(job, strategy, request, settings[i], run)) return true;
  return false;
}

std::string what_fits(const Job& job, const ChosenStrategy& chosen, const Request& request,
                      const PlannedLayer& planned) {
  const RunSection& run = job.config.run;
  const auto fits_with = [&](const RunSection& other) {
    return memory_need(planned.plan, planned.memory_bound_bytes, job.model, other, job.cluster.preset,
                       job.plans_at_once())
        .fits();
  };
  RunSection elsewhere = run, sharded = run;
  elsewhere.text_encoder = TextEncoderPlace::kCpu;
  sharded.weights = WeightLayout::kSharded;
  if (fits_with(elsewhere)) return "it fits with the text encoder elsewhere (run.text_encoder = cpu)";
  if (run.weights == WeightLayout::kReplicated && fits_with(sharded))
    return "it fits with run.weights = sharded, where each GPU keeps a part of the weights and gathers the others: " +
           gather_text(weight_gather(job));
  if (const std::optional<int> ranks = fits_from_ranks(job, chosen, request, run))
    return fmt::format("fits from {} ranks", *ranks);
  if (run.weights == WeightLayout::kReplicated)
    if (const std::optional<int> ranks = fits_from_ranks(job, chosen, request, sharded))
      return fmt::format("fits from {} ranks with run.weights = sharded", *ranks);
  return fmt::format("it fits with no number of ranks up to {}: use another strategy, fewer tokens or a smaller batch",
                     std::max(most_ranks(job, request), request.ranks));
}

}  // namespace

std::optional<int> fits_from_ranks(const Job& job, const ChosenStrategy& chosen, const Request& request,
                                   const RunSection& run) {
  const int most = most_ranks(job, request);
  Request larger = request;
  while (larger.ranks <= most / 2) {
    larger.ranks *= 2;
    if (most < kMostRanks) larger.ranks_per_node = 0;
    if (some_setting_fits(job, chosen, larger, run)) return larger.ranks;
  }
  return std::nullopt;
}

Result<PlannedLayer> try_plan_fitting(const Job& job, const ChosenStrategy& chosen, const Request& request,
                                      const LayerDecision& decision) {
  Result<PlannedLayer> planned = try_plan_layer(chosen, request, decision);
  if (!planned) return planned;
  planned->memory = memory_need(planned->plan, planned->memory_bound_bytes, job.model, job.config.run,
                                job.cluster.preset, job.plans_at_once());
  if (planned->memory.fits()) return planned;
  return Error(ErrorCode::kMemoryNeed, memory_sentence(planned->memory), what_fits(job, chosen, request, *planned));
}

}  // namespace spscope
