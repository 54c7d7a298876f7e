// Advice: which strategy to use for a model on a cluster, how much faster it is than the baseline, how much of that is
// the draw of the masks, what the model cannot tell apart, and which engines run it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "backend/config/engines.h"
#include "backend/report/document.h"
#include "backend/study/divisions.h"
#include "backend/study/seeds.h"
#include "backend/study/what_if.h"

namespace spscope {

struct Advice {
  SeededRuns runs;
  Comparison judged;  // runs.together without plans that equal another's (analysis/equal_plans.h)
  // Of `judged`, what `chosen` is chosen from: all, or where no engine runs any of those that the model cannot tell
  // from the fastest, those that one runs. Refused strategies stay.
  Comparison candidates;
  // StrategyResult::id; "": nothing can run, or there is nothing to compare. `chosen` is what the first sentence says
  // to use: of the candidates that the model cannot tell from the fastest of them, the first that most engines run as
  // it is modelled, and of these one that is measured.
  std::string fastest, chosen, reference;
  std::string argument;  // of the chosen one, after -s: "cyclic:ulysses=4,ring=2"
  std::string reference_argument;
  std::string runner_up_argument;    // of the fastest besides the chosen one; "": there is none
  Spread speedup;                    // of the chosen one over the reference, over seeds
  std::vector<std::string> as_fast;  // labels of the other candidates that it cannot tell from the fastest of them
  Divisions divisions;               // of the ranks, that were compared; without times where there is nothing to choose
  ParallelSetting division;          // of the job
  std::string layout;                // why the weights are sharded, or what sharding them would give; "": nothing
  std::string unsharded;             // LayoutChoice::unsharded
  std::string gather;                // what sharded weights cost that no time includes; "": they are whole
  std::map<std::string, std::vector<std::string_view>> engines;  // by id of `judged`: those that run it as it is
  const StrategyResult& result(const std::string& id) const;     // of `judged`
  // Those of `engines`, or of them this one, that run it as it is modelled.
  std::vector<std::string_view> as_modelled(const std::string& id, const Engine* only = nullptr) const;
  // `chosen`; "" where one that was asked for by name cannot run.
  std::string best() const;
};

// `divisions`: those that the job's was chosen from. `engine`: that the answer is for; nullptr: any, and then the best
// setting that engines run stands beside one that none runs. Throws Error as comparison_of(). REQUIRES: times of the
// job are modelled.
Advice advise(const Job& job, int seeds, const QuietRun& options, Divisions divisions = {},
              const Engine* engine = nullptr);

// "usp:ulysses=4,ring=2": what follows -s to run this setting.
std::string strategy_argument(const ChosenStrategy& chosen);

}  // namespace spscope
