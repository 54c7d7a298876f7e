// Times of one planned layer in each of the three modes, in the form the store keeps.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <vector>

#include "backend/execute/execute.h"
#include "backend/execute/reference/reference.h"
#include "backend/job/planned_layer.h"
#include "backend/schedule/network.h"

namespace spscope {

// What a layer's run left: a timeline a repeat, what the ranks did, and what its outputs are worth.
struct TimedLayer {
  std::vector<Timeline> timelines;
  RunProvenance provenance;
  std::vector<RankUsage> usage;
  Verdict verdict = Verdict::kSkipped;
  std::optional<double> max_error;
  std::int64_t num_unjudged = 0;  // rows with scores too large to be checked: Verification::num_unjudged
  std::string error_metric;
  std::vector<OutputTensor> outputs;  // when executed
};

// What timing a layer may use and must watch.
struct TimingContext {
  const Job& job;
  Network network;
  const Reference* reference = nullptr;  // what executed outputs are held to; nullptr: they are not checked
  OpRecorder* recorder = nullptr;        // of what is executed; may be nullptr
  RankWorld* world = nullptr;            // the processes that run a rank each; nullptr: threads of this one do
  const std::atomic<bool>* interrupt = nullptr;
  std::function<void(int done, int total)> on_pass;  // warm-ups first; in mode `project` ranks that were measured
  std::function<void()> on_check;                    // before outputs are held to the reference
};

// By the mode of the job. Throws Error: a rank failed or hung, moved other bytes than planned, or kInterrupted.
TimedLayer time_layer(const TimingContext& context, const PlannedLayer& planned, const Request& request,
                      const Activations& activations);

}  // namespace spscope
