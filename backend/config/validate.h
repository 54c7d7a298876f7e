// Checks of a config beyond the type and range of single keys.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "backend/base/error.h"
#include "backend/config/cluster.h"
#include "backend/config/model.h"
#include "backend/config/run_config.h"

namespace spscope {

// What executes ranks: a pair of run.device and run.backend, and the values that run.comm may have with it besides
// "auto".
struct ExecutorNames {
  std::string_view device, backend;
  std::vector<std::string_view> comms;
};

// Names from the tables of other parts of the program. An empty list skips its check.
struct NameLists {
  std::vector<std::string_view> patterns = {}, strategies = {}, collectors = {};
  std::vector<std::string_view> collectors_of_programs = {};  // that runs of plans have nothing for
  std::vector<ExecutorNames> executors = {};
  std::vector<std::string> parameter_keys = {};  // "mask.sparge.cdf", "strategy.usp.ring": for spelling help
  // Problems of the parameters of patterns and strategies; nullptr skips that check.
  std::function<std::vector<Problem>(const RunConfig&)> check_parameters = nullptr;
};

// All problems, each with the name of its field. A check that reads a key of `faulty` is skipped: its problem is known.
std::vector<Problem> validate(const RunConfig& config, const NameLists& names,
                              const std::set<std::string, std::less<>>& faulty = {});

// A config with every gap filled.
struct ResolvedConfig {
  Model model;
  Cluster cluster;
};
// Throws Error with all problems when the model or the cluster cannot be resolved.
ResolvedConfig resolve(const RunConfig& config);

}  // namespace spscope
