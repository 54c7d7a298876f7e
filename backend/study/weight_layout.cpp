#include "backend/study/weight_layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/analysis/equal_plans.h"
#include "backend/base/number_text.h"
#include "backend/config/model_size.h"
#include "backend/job/weight_gather.h"

namespace spscope {
namespace {

// Of a whole generation: every layer pass of every denoise step, one after the other.
double gather_ns_of_all(const Job& job, const Workload& workload) {
  const double in_turn = static_cast<double>(workload.forward_passes) / workload.guidance;
  return weight_gather(job).layer_ns * workload.model_layers * in_turn * workload.model_denoise_steps.value_or(1);
}

bool lacks_memory(const StrategyResult& s) {
  return std::ranges::any_of(s.problems, [](const Problem& p) { return p.code == ErrorCode::kMemoryNeed; });
}

}  // namespace

bool sharding_may_help(const Job& job, const Advice& advice) {
  return job.cluster.ranks > 1 && !job.places.contains("run.weights") &&
         job.config.run.weights == WeightLayout::kReplicated &&
         std::ranges::any_of(advice.runs.together.strategies, lacks_memory);
}

LayoutChoice choose_layout(const Job& sharded_job, const Advice& whole, const Advice& sharded) {
  if (sharded.chosen.empty()) return {};
  const StrategyResult& with = sharded.result(sharded.chosen);
  if (!with.end_to_end_ns) return {whole.chosen.empty(), ""};
  const auto hidden_ns = static_cast<double>(*with.end_to_end_ns);
  const double open_ns = hidden_ns + gather_ns_of_all(sharded_job, sharded.runs.together.workload);
  const std::string times =
      fmt::format("{}, or {} if compute hides none of the gathering", duration_text(hidden_ns), duration_text(open_ns));
  const double weights = static_cast<double>(model_size(sharded_job.model).total()) * sharded_job.model.experts *
                         weight_bytes(sharded_job.config.run);
  const std::string size = binary_bytes_text(weights);
  const std::string part = "so each GPU keeps a part of them (FSDP, run.weights = sharded): " + times;
  if (whole.chosen.empty()) return {true, fmt::format("Whole weights, {}, fit with no strategy, {}.", size, part)};
  const StrategyResult& without = whole.result(whole.fastest);
  if (!without.end_to_end_ns) return {};
  const auto whole_ns = static_cast<double>(*without.end_to_end_ns);
  if (open_ns < whole_ns)
    return {true, fmt::format("Whole weights, {}, leave no room for some strategies, {}.", size, part),
            fmt::format("Without sharding, {} is the fastest that can run. It takes {} and {}.", own_label(without),
                        duration_text(whole_ns), fit_text(without.memory_need))};
  if (hidden_ns < whole_ns)
    return {false,
            fmt::format("If each GPU keeps a part of the weights (FSDP, run.weights = sharded), {} takes {}. It {}.",
                        own_label(with), times, fit_text(with.memory_need))};
  return {};
}

}  // namespace spscope
