// Times of one planned layer in each of the three modes, in the form the store keeps.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "backend/execute/execute.h"
#include "backend/execute/reference/reference.h"
#include "backend/job/planned_layer.h"
#include "backend/schedule/cost.h"
#include "backend/schedule/layer_passes.h"

namespace spscope {

// What a layer's run left: its times, repeat by repeat, what the ranks did, and what its outputs are worth.
struct TimedLayer {
  std::vector<ScheduledPass> repeats;  // of a scheduled network once LayerScheduler has made them
  // Where the network is scheduled, until then: durations of compute by repeat and op.
  std::vector<std::vector<std::int64_t>> compute_ns;
  HostTimes host;  // of a modelled host; what is measured holds the host of this machine
  // Makespan with the ranges of the cluster at their fast and slow ends, from LayerScheduler; absent without ranges
  // that matter to the plan.
  std::optional<std::int64_t> makespan_low_ns, makespan_high_ns;
  RunProvenance provenance;
  std::vector<RankUsage> usage;
  Verdict verdict = Verdict::kSkipped;
  std::optional<double> max_error;
  std::int64_t num_unjudged = 0;  // rows with scores too large to be checked: Verification::num_unjudged
  std::string error_metric;
  std::string unchecked;  // why outputs that should be checked were not; "": nothing kept them from it
  std::vector<std::vector<OutputTensor>>
      outputs;  // when executed, of each pass of guidance, with Value::layer of pass 0
};

// What timing a layer may use and must watch.
struct TimingContext {
  const Job& job;
  // What outputs are held to, by pass of guidance; empty: they are not checked.
  std::span<const std::shared_ptr<const Reference>> references = {};
  OpRecorder* recorder = nullptr;  // of what is executed; may be nullptr
  RankWorld* world = nullptr;      // the processes that run a rank each; nullptr: threads of this one do
  const std::atomic<bool>* interrupt = nullptr;
  std::function<void(int done, int total)> on_pass;  // warm-ups first; in mode `project` ranks that were measured
  std::function<void()> on_check;                    // before outputs are held to the reference
};

// How a plan is executed that ranks of so many a node run.
ExecuteOptions execute_options(const TimingContext& context, int ranks_per_node);

// Those of a layer pass that ran (figures.def). bound_ns: makespan_bound_ns(); absent where none is proven.
RunFigures figures_of(const PlannedLayer& planned, const TimedLayer& timed, std::optional<std::int64_t> bound_ns);

// Adds what the outputs of more passes of guidance, or those combined, are worth to what is known of a layer's.
void add_check(TimedLayer& timed, const Verification& check);
void add_check(TimedLayer& timed, const TimedLayer& more);

// By the mode of the job. Throws Error: a rank failed or hung, moved other bytes than planned, or kInterrupted.
TimedLayer time_layer(const TimingContext& context, const PlannedLayer& planned, const Request& request,
                      const Activations& activations);

}  // namespace spscope
