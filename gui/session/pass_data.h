// PassData: one layer pass of one strategy as views need it: its plan, the times of one repeat, and what follows from
// them by backend/analysis.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/analysis/rank_times.h"
#include "backend/analysis/time_terms.h"
#include "backend/plan/plan.h"
#include "backend/plan/timeline.h"
#include "backend/store/records.h"
#include "backend/store/store_reader.h"

namespace spscope::gui {

struct PassData {
  std::string key;  // says of which file, its generation, strategy, layer pass and repeat it is
  RunRecord run;
  std::vector<RepeatRecord> repeats;
  RepeatRecord repeat;               // the one that is shown
  std::shared_ptr<const Plan> plan;  // absent when the file keeps none
  std::optional<Timeline> timeline;  // from where the makespan begins: below 0 is beside the layer pass before
  std::int64_t zero_ns = 0;          // of that, on the clock of the stored timeline (makespan_begin_ns)
  std::string why_no_timeline;       // "" when there is one
  std::vector<int> repeats_with_timeline;
  RankTimes times;  // empty without a timeline
  TimeDetail detail;
  std::vector<RankUsage> usage;
};

// Takes the stored timeline of pass.repeat, from where its makespan begins. REQUIRES: pass.run and pass.repeat are set.
void take_timeline(PassData& pass, Timeline stored);

// `repeat`: absent for the one with the median makespan. Throws Error: the strategy did not run this pass, or damage.
PassData load_pass(const StoreReader& reader, const std::string& strategy_id, int layer, int denoise_step,
                   std::optional<int> repeat);
// Of a run of the strategy, for those who read many.
PassData load_pass(const StoreReader& reader, const StrategyRecord& strategy, const RunRecord& run,
                   std::optional<int> repeat);

}  // namespace spscope::gui
