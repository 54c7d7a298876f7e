// A job: what one config means, with every name looked up and every gap filled. The front half of `run` and `plan`.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/base/memory_limit.h"
#include "backend/config/cluster.h"
#include "backend/config/config_text.h"
#include "backend/config/model.h"
#include "backend/config/run_config.h"
#include "backend/execute/execute.h"
#include "backend/plan/request.h"
#include "backend/strategies/strategy.h"

namespace spscope {

// A strategy with its parameters, as asked for. `id` is unique within the job: the name, or name-2, name-3.
struct ChosenStrategy {
  std::string id;
  const Strategy* strategy = nullptr;
  Parameters parameters;
};

// The flags that `run` and `plan` share.
struct JobFlags {
  std::string config;                   // path; "" for the built-in small run
  std::vector<std::string> strategies;  // -s, in place of run.strategies
  std::vector<std::string> settings;    // --set key=value
};

struct Job {
  RunConfig config;
  std::int64_t max_memory_bytes = kDefaultMaxMemoryBytes;  // of each array file
  ConfigPlaces places;                                     // where the keys stand, for problems that show only later
  Model model;
  Cluster cluster;
  std::vector<ChosenStrategy> strategies;
  std::span<const Executor> executors = spscope::executors();  // among which run.device and run.backend name one
};

// Throws Error with all problems of the config, the overrides and the strategy parameters, with their places.
Job load_job(const JobFlags& flags, std::int64_t max_memory_bytes = kDefaultMaxMemoryBytes,
             std::span<const Executor> executors = spscope::executors());

}  // namespace spscope
