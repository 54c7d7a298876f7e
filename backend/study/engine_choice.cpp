#include "backend/study/engine_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "backend/base/listed.h"
#include "backend/config/profile_layers.h"

namespace spscope {
namespace {

// Whether blocks, heads or ranks are dealt out otherwise than in a row.
bool has_own_order(const Parameters& parameters) {
  return std::ranges::any_of(std::array{"order", "ranks", "heads"}, [&](const char* name) {
    return parameters.has(name) && parameters.text(name) != "contiguous" && parameters.text(name) != "even";
  });
}

EngineSetup setup_of(const Job& job, std::string_view strategy, const Parameters& parameters, int ulysses, int ring) {
  EngineSetup setup{.strategy = std::string(strategy),
                    .model = job.config.model.preset,
                    .own_order = has_own_order(parameters),
                    .heads = job.model.heads};
  const int ranks = job.cluster.plan_ranks();
  if (strategy == "allgather_kv") {
    setup.ulysses = parameters.has("ulysses") ? parameters.integer("ulysses") : 1;
    setup.gather = ranks / setup.ulysses;
  } else if (strategy.starts_with("megatron")) {
    setup.tensor = ranks;
  } else {
    setup.ulysses = std::max(1, ulysses), setup.ring = std::max(1, ring);
  }
  setup.masks = backend_masks(job);
  if (!setup.masks.empty() && job.config.mask.file.empty()) setup.density = job.config.mask.density;
  setup.in_pieces = parameters.has("chunks") && parameters.integer("chunks") > 1;
  setup.guidance = job.cluster.guidance;
  setup.head_dim = job.model.head_dim;
  setup.gpu = job.cluster.preset.gpu;
  setup.gpus_per_node = job.cluster.nodes > 1 ? job.cluster.gpus_per_node : 0;
  setup.compiled = job.cluster.preset.implementation == kDefaultImplementation;
  setup.kernel = job.cluster.preset.attention_kernel;
  setup.sharded = job.config.run.weights == WeightLayout::kSharded && job.cluster.replica_ranks() > 1;
  return setup;
}

// As a strategy divides the ranks when it is run as it is; of USP a setting says it.
EngineSetup whole_setup(const Job& job, std::string_view strategy, const Parameters& parameters) {
  const int ranks = job.cluster.plan_ranks();
  return setup_of(job, strategy, parameters, strategy == "ulysses" || strategy == "snake" ? ranks : 1,
                  strategy == "ring" ? ranks : 1);
}

// What a setting asks of an engine, on the ranks of the job.
std::function<EngineSetup(std::string_view, const Parameters&)> setups_of(const Job& job) {
  Job asked = job;
  asked.may_pick = nullptr;
  return [asked = std::move(asked)](std::string_view strategy, const Parameters& setting) {
    EngineSetup setup = whole_setup(asked, strategy, setting);
    if (strategy == "usp") setup.ulysses = setting.integer("ulysses"), setup.ring = setting.integer("ring");
    return setup;
  };
}

// Those strategies and settings of `all` stay for which `has` is true of what they ask of an engine.
void restrict_by(std::function<bool(const EngineSetup&)> has, Job& job) {
  std::erase_if(job.strategies,
                [&](const ChosenStrategy& c) { return c.from_all && !has(whole_setup(job, c.strategy->name, {})); });
  job.may_pick = [has = std::move(has), setups = setups_of(job)](std::string_view strategy, const Parameters& setting) {
    return has(setups(strategy, setting));
  };
}

}  // namespace

bool has_sparse_masks(const Job& job) {
  const MaskConfig& mask = job.config.mask;
  return !mask.file.empty() || !job.config.model.activations.empty() || (mask.pattern != "dense" && mask.density < 1);
}

std::string backend_masks(const Job& job) {
  const MaskConfig& mask = job.config.mask;
  if (!has_sparse_masks(job)) return "";
  if (mask.file.empty()) return mask.pattern;
  const std::string& kernel = job.cluster.preset.attention_kernel;
  const bool is_named = kernel == mask.kernel || job.places.contains("run.attention_kernel");
  return is_named && is_backend_pattern(kernel) ? kernel : std::string(kOwnMasks);
}

EngineSetup engine_setup(const Job& job, const StrategyResult& result) {
  const RankMesh mesh = result.meshes.empty() ? RankMesh() : result.meshes.front();
  return setup_of(job, result.name, result.parameters, mesh.ulysses, mesh.ring);
}

void restrict_to(const Engine& engine, Job& job) {
  restrict_by([&engine](const EngineSetup& setup) { return missing_in(engine, setup).empty(); }, job);
}

void restrict_to_engines(Job& job) {
  restrict_by(
      [model = job.config.model.preset](const EngineSetup& setup) { return !engines_with(setup, model).empty(); }, job);
}

SettingTest run_by_engines(const Job& job) {
  return
      [model = job.config.model.preset, setups = setups_of(job)](std::string_view strategy, const Parameters& setting) {
        return !engines_with(setups(strategy, setting), model).empty();
      };
}

bool is_ring(const StrategyResult& result) {
  return result.name != "allgather_kv" && !result.meshes.empty() && result.meshes.front().ring > 1;
}

bool runs_as_modelled(const Engine& engine, const StrategyResult& result) {
  return !is_ring(result) || engine.ring.empty();
}

std::vector<EngineFeature> without_place(const Engine& engine, const MemoryNeed& need) {
  std::vector<EngineFeature> parts;
  if (need.ranks.empty()) return parts;
  const auto [encoder, vae] = need.elsewhere();
  for (const auto& [out, feature] :
       {std::pair(encoder, EngineFeature::kTextEncoderOut), std::pair(vae, EngineFeature::kVaeOut)})
    if (out && !engine.has(feature)) parts.push_back(feature);
  return parts;
}

std::vector<std::string> engine_settings(const Engine& engine, const Job& job) {
  std::vector<std::string> settings;
  std::istringstream all{std::string(engine.settings)};
  for (std::string setting; all >> setting;)
    if (!job.places.contains(setting.substr(0, setting.find('=')))) settings.push_back(setting);
  return settings;
}

std::string why_no_backend(const Engine& engine, const Job& job) {
  const EngineSetup setup = whole_setup(job, "ulysses", {});
  return backend_limit(engine, setup.masks, setup);
}

std::string why_no_other(const Engine& engine, const Job& job) {
  std::vector<std::string> missing;
  const bool dense = !has_sparse_masks(job),
             own_ring = dense && !engine.has(EngineFeature::kRing) && !engine.ring.empty();
  for (const char* name : {"ulysses", "ring", "allgather_kv", "megatron_tp"}) {
    if (std::ranges::any_of(job.strategies, [&](const ChosenStrategy& c) { return c.strategy->name == name; }))
      continue;
    const std::string lacks = missing_in(engine, whole_setup(job, name, {}));
    if (lacks.empty()) return "";
    // A ring that gathers all keys is neither of the two here.
    const bool by_ring =
        own_ring && (lacks == feature_name(EngineFeature::kRing) || lacks == feature_name(EngineFeature::kGather));
    if (!by_ring && std::ranges::find(missing, lacks) == missing.end()) missing.push_back(lacks);
  }
  const std::string none = missing.empty() ? "" : "it has no " + listed(missing, "or");
  if (!own_ring) return none;
  return fmt::format("its ring gathers all keys {}{}", engine.ring, none.empty() ? "" : ", and " + none);
}

bool has_division(const Engine& engine, const Job& job, int guidance) {
  return missing_in(engine, {.strategy = "single", .model = job.config.model.preset, .guidance = guidance}).empty();
}

}  // namespace spscope
