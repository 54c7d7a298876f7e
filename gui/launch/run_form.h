// RunForm: a run's config as the user types it: a text for each key, also while it is wrong, and what is wrong with it.
// What the form asks for is said in one way to everybody: as `--set` arguments of `spscope`.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "backend/base/error.h"
#include "backend/config/config_text.h"
#include "backend/config/run_config.h"
#include "gui/launch/catalog.h"

namespace spscope::gui {

class RunForm {
 public:
  RunForm();

  // -- values. `key`: of config_fields(), or of a parameter as "strategy.usp.ulysses", "mask.sparge.cdf".
  // As it is typed: "8", "[4, 14, 14]", "spread:8", without the quotes of TOML. "" for a parameter that is not set.
  std::string text(std::string_view key) const;
  void set(std::string_view key, std::string_view text);
  void reset(std::string_view key);
  bool changed(std::string_view key) const { return texts_.contains(key); }
  // What the model or the cluster says for a key that leaves it to them: "[21, 45, 80]" for model.grid. "" for others.
  std::string from_preset(std::string_view key) const;
  // Replaces all values by those of a config; relative input paths become absolute.
  void load(const RunConfig& config);
  // Keys that differ from their default, in the order of config_fields(), then parameters.
  std::vector<std::string> changed_keys() const;

  // -- strategies: run.strategies as a list
  const std::vector<std::string>& strategies() const { return config_.run.strategies; }
  void set_strategies(const std::vector<std::string>& strategies);
  bool all_settings() const;  // "all" is among them

  // -- what follows. Grows with each change.
  int revision() const { return revision_; }
  const RunConfig& config() const { return config_; }
  // What is wrong without asking the program: types, ranges, names, keys that contradict each other.
  const std::vector<Problem>& problems() const { return problems_; }
  // Names of strategies and patterns are checked from then on.
  void check_names(const Catalog& catalog);

  // "--set", "run.mode=simulate", ..., "-s", "ring", ...: arguments that ask `spscope run` and others for this config,
  // but for where results go (run.output, run.scratch).
  std::vector<std::string> arguments() const;
  // A config file that reads back as this config, wherever it lies.
  std::string toml() const;

 private:
  void update();

  std::map<std::string, std::string, std::less<>> texts_;  // of changed keys
  std::vector<std::string> strategy_names_, pattern_names_;
  RunConfig config_, filled_;  // filled_: with what presets say
  std::vector<Problem> problems_;
  int revision_ = 0;
};

// A value of the config as it is typed.
std::string typed_text(std::string_view key, const RunConfig& config);

}  // namespace spscope::gui
