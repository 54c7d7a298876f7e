#include "backend/study/weight_layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/analysis/equal_plans.h"
#include "backend/base/listed.h"
#include "backend/base/number_text.h"
#include "backend/config/model_size.h"
#include "backend/job/weight_gather.h"
#include "backend/study/engine_choice.h"

namespace spscope {
namespace {

// Of a whole generation: every layer pass of every denoise step, one after the other.
double gather_ns_of_all(const Job& job, const Workload& workload) {
  const double in_turn = static_cast<double>(workload.forward_passes) / workload.guidance;
  return weight_gather(job).layer_ns * workload.model_layers * in_turn * workload.model_denoise_steps.value_or(1);
}

// What the chosen plan leaves no room for, in an engine that can put it nowhere else.
std::vector<std::string_view> without_room(const Advice& advice, const Engine* engine) {
  std::vector<std::string_view> parts;
  if (engine == nullptr || advice.chosen.empty()) return parts;
  for (const EngineFeature part : without_place(*engine, advice.result(advice.chosen).memory_need))
    parts.push_back(part == EngineFeature::kVaeOut ? "VAE" : "text encoder");
  return parts;
}

// "With whole weights the answer is ring r4. It takes 240 s and fits, with 1.0 GiB to spare." REQUIRES: it has a time.
std::string unsharded_text(const Advice& whole, const Engine* engine) {
  const StrategyResult& chosen = whole.result(whole.chosen);
  const auto runs = whole.engines.find(whole.chosen);
  const bool is_run = engine != nullptr || (runs != whole.engines.end() && !runs->second.empty());
  return fmt::format("With whole weights the answer is {}{}. It takes {} and {}.", own_label(chosen),
                     is_run ? "" : ", which no engine runs", duration_text(static_cast<double>(*chosen.end_to_end_ns)),
                     fit_text(chosen.memory_need));
}

}  // namespace

bool lacks_memory(const StrategyResult& s) {
  return std::ranges::any_of(s.problems, [](const Problem& p) { return p.code == ErrorCode::kMemoryNeed; });
}

bool fits_in(const Engine* engine, const Advice& advice) { return without_room(advice, engine).empty(); }

bool sharding_may_help(const Job& job, const Advice& advice, const Engine* engine) {
  return job.cluster.ranks > 1 && !job.places.contains("run.weights") &&
         job.config.run.weights == WeightLayout::kReplicated &&
         (std::ranges::any_of(advice.runs.together.strategies, lacks_memory) || !without_room(advice, engine).empty());
}

LayoutChoice choose_layout(const Job& sharded_job, const Advice& whole, const Advice& sharded, const Engine* engine) {
  if (sharded.chosen.empty()) return {};
  const std::vector<std::string_view> no_room = without_room(whole, engine);
  const bool makes_room = !no_room.empty() && without_room(sharded, engine).empty();
  const StrategyResult& with = sharded.result(sharded.chosen);
  if (!with.end_to_end_ns) return {whole.chosen.empty() || makes_room, ""};
  const auto hidden_ns = static_cast<double>(*with.end_to_end_ns);
  const double open_ns = hidden_ns + gather_ns_of_all(sharded_job, sharded.runs.together.workload);
  const double weights = static_cast<double>(model_size(sharded_job.model).total()) * sharded_job.model.experts *
                         weight_bytes(sharded_job.config.run);
  const auto because = [&](const std::string& what) {
    return fmt::format(
        "Whole weights, {}, {}, so each GPU keeps a part of them under FSDP. If nothing hides gathering them, a "
        "generation takes {}.",
        binary_bytes_text(weights), what, duration_text(open_ns));
  };
  if (whole.chosen.empty()) return {true, because("fit with no strategy")};
  const StrategyResult& without = whole.result(whole.chosen);
  if (!without.end_to_end_ns) return {};
  const std::string unsharded = unsharded_text(whole, engine);
  if (makes_room) return {true, because("leave no room for the " + listed(no_room)), unsharded};
  const auto whole_ns = static_cast<double>(*without.end_to_end_ns);
  if (open_ns < whole_ns) return {true, because("leave some strategies too little room"), unsharded};
  if (hidden_ns < whole_ns)
    return {false,
            fmt::format("If each GPU keeps a part of the weights under FSDP (run.weights = sharded), {} takes {}, "
                        "or {} if nothing hides gathering them. It {}.",
                        own_label(with), duration_text(hidden_ns), duration_text(open_ns), fit_text(with.memory_need))};
  return {};
}

}  // namespace spscope
