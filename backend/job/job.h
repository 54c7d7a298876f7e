// A job: what one config means, with every name looked up and every gap filled. The front half of `run` and `plan`.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/base/memory_limit.h"
#include "backend/config/cluster.h"
#include "backend/config/config_text.h"
#include "backend/config/model.h"
#include "backend/config/run_config.h"
#include "backend/job/mask_cache.h"
#include "backend/plan/request.h"
#include "backend/store/records.h"
#include "backend/strategies/strategy.h"

namespace spscope {

// The name in run.strategies that stands for every strategy at its best setting (pick_settings.h).
inline constexpr std::string_view kAllStrategies = "all";

// A strategy with its parameters, as asked for. `id` is unique within the job: the name, or name-2, name-3.
struct ChosenStrategy {
  std::string id;
  const Strategy* strategy = nullptr;
  Parameters parameters;
  bool from_all = false;                  // kAllStrategies stands for it
  std::optional<StrategyPick> pick = {};  // how its parameters were picked, once they were

  bool unpicked() const { return from_all && !pick; }
};

// The flags that `run` and `plan` share.
struct JobFlags {
  std::string config;                   // path; "" for the built-in small run
  std::vector<std::string> strategies;  // -s, in place of run.strategies
  std::vector<std::string> settings;    // --set key=value
  // Keys that a flag of its own sets, with that flag: problems and hints name it. "model.preset" and "--model".
  std::vector<std::pair<std::string, std::string>> flags = {};
};

struct Job {
  RunConfig config;
  std::int64_t max_memory_bytes = kDefaultMaxMemoryBytes;  // of each array file
  ConfigPlaces places;                                     // where the keys stand, for problems that show only later
  Model model;
  std::vector<int> layers;  // of the model, that run, ascending; config.run.layers chooses them and is never kAuto
  Cluster cluster;
  std::vector<ChosenStrategy> strategies;  // of kAllStrategies all but the baseline, with what is given as parameters
  std::shared_ptr<MaskCache> mask_cache = {};  // of jobs that share masks; null: none
  // Of the settings that `all` picks from, those that may be picked; empty: all of them.
  std::function<bool(std::string_view strategy, const Parameters& setting)> may_pick = {};

  bool executes() const { return config.run.mode == RunMode::kExecute; }
  // Whether outputs are held to the reference. A GPU measures the ranks of a projection one after the other, and then
  // runs their plan once; on a CPU that would take a thread for each lane of each rank, which a projection does
  // without.
  bool checks_outputs() const {
    const bool projects_on_gpu = config.run.mode == RunMode::kProject && config.run.device == "cuda";
    return (executes() || projects_on_gpu) && config.run.verify != VerifyExtent::kOff;
  }
  // Forward passes of guidance in a plan that runs, each on cluster.plan_ranks() ranks; other modes time one of them.
  int passes_at_once() const { return executes() ? cluster.guidance : 1; }
  // Plans of a replica that run at once, each on its own ranks: one for each guidance pass that no plan holds.
  int plans_at_once() const { return cluster.guidance / passes_at_once(); }
  // How often a plan runs, each time on the inputs of other passes.
  int passes_in_turn() const {
    return executes() && config.run.passes == PassChoice::kAll ? model.cfg / cluster.guidance : 1;
  }
  // Whether all passes of a denoise step run, and are combined.
  bool combines_passes() const {
    return executes() && model.cfg > 1 && passes_at_once() * passes_in_turn() == model.cfg;
  }
  int run_ranks() const { return cluster.plan_ranks() * passes_at_once(); }
};

// Throws Error with all problems of the config, the overrides and the strategy parameters, with their places.
Job load_job(const JobFlags& flags, std::int64_t max_memory_bytes = kDefaultMaxMemoryBytes);

// Gives each strategy its id.
void give_ids(std::vector<ChosenStrategy>& strategies);

}  // namespace spscope
