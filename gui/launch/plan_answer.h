// What `spscope plan` says of a form: for each strategy whether it is legal and why not, balance, bytes, memory, and
// where the config is simulated its time; or what is wrong with the config.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/base/error.h"
#include "backend/base/json.h"
#include "gui/launch/catalog.h"
#include "gui/launch/run_form.h"
#include "gui/session/workers.h"

namespace spscope::gui {

struct PlannedStrategy {
  std::string asked;  // the text of run.strategies that it is the answer to; "all" for one that `all` chose
  std::string name, label;
  bool legal = false;
  std::vector<Problem> problems;  // why it is not legal
  // Over the layer passes that were planned; nothing where the program gives none.
  std::optional<double> imbalance, makespan_ns;
  std::optional<double> sent_bytes;    // mean over ranks
  std::optional<double> memory_bytes;  // of the rank that needs most: activations, weights, staging, reserved
  std::optional<double> memory_limit_bytes;
};

struct PlanAnswer {
  std::vector<PlannedStrategy> strategies;
  int layer_passes = 0;
  std::string config_hash;
  std::vector<Problem> problems;  // of the config; no strategy was planned then
};

// The command for it: every strategy of the form, then the others of the catalog for their legality. At most eight
// layers of one denoise step are planned, so that it takes seconds; where the config is simulated, times come with it.
std::vector<std::string> plan_words(const std::string& program, const RunForm& form, const Catalog& catalog);
// A strategy that the command names with -s.
struct AskedStrategy {
  std::string text;
  int answer = 0;  // number of its answer: settings that are the same are answered once
};
// In order; for "all" just that.
std::vector<AskedStrategy> planned_strategies(const RunForm& form, const Catalog& catalog);
// What a child printed, a row for each that was asked for; for "all", what it chose. `asked`: planned_strategies().
// Output that is no answer is one problem without a field.
PlanAnswer read_plan(const std::string& output, const std::string& errors, const std::vector<AskedStrategy>& asked);

}  // namespace spscope::gui
