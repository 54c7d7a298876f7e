// The thread executor: all ranks are threads of this process (lane_run.h), and messages are copies.
#include <algorithm>

#include "backend/base/cores.h"
#include "backend/execute/lane_run.h"
#include "backend/execute/thread_communicator.h"

namespace spscope {
namespace {

std::shared_ptr<LaneRun> make_run(const Plan& plan, const Request& request, const Activations& activations,
                                  const ExecuteOptions& options) {
  const auto run = std::make_shared<LaneRun>(plan, request, activations, options, RankView::all(plan.ranks));
  run->store = std::make_unique<BufferStore>(run->program.layout(), options.poison);
  run->control = std::make_unique<RunControl>(run->program.plan());
  run->communicator = std::make_unique<ThreadCommunicator>(run->program.plan(), *run->store, *run->control,
                                                           options.ranks_per_node, options.recorder);
  return run;
}

// One run of the layer. repeat < 0: a warm-up.
Timeline run_once(const std::shared_ptr<LaneRun>& run, const Activations& activations, int repeat) {
  run->control->reset();
  run->communicator->reset();
  fill_inputs(*run, activations);
  const std::int64_t start_ns = run_lanes(run, repeat);
  Timeline timeline{run->times};
  for (OpTimes& t : timeline.ops) t.post_ns -= start_ns, t.begin_ns -= start_ns, t.end_ns -= start_ns;
  return timeline;
}

void keep_highest(std::vector<std::int64_t>& highest, const std::vector<std::int64_t>& now) {
  highest.resize(now.size(), 0);
  for (std::size_t i = 0; i < now.size(); ++i) highest[i] = std::max(highest[i], now[i]);
}

}  // namespace

ExecuteResult execute_threads(const Plan& plan, const Request& request, const Activations& activations,
                              const ExecuteOptions& options) {
  if (std::vector<Problem> problems = cannot_execute(plan, options); !problems.empty())
    throw Error(std::move(problems));
  require_fit(activations, request);
  const auto run = make_run(plan, request, activations, options);
  ExecuteResult result;
  const int total = options.warmup + options.repeats;
  for (int done = 0; done < total; ++done) {
    Timeline timeline = run_once(run, activations, done - options.warmup);
    keep_highest(result.peak_bytes, run->store->peak_bytes());
    keep_highest(result.staging_peak_bytes, run->staging_bytes());
    if (done >= options.warmup) {
      result.makespan_ns.push_back(timeline.makespan_ns());
      result.timelines.push_back(std::move(timeline));
    }
    if (options.on_run) options.on_run(done + 1, total);
  }
  result.traffic = run->communicator->traffic();
  std::vector<std::vector<float>> held;
  for (int rank = 0; rank < plan.ranks; ++rank) held.push_back(run->program.outputs().held(*run->store, rank));
  result.outputs = run->program.outputs().gather(held);
  if (plan.ranks * options.threads_per_rank > usable_cores()) result.provenance.timing = Timing::kOversubscribed;
  return result;
}

}  // namespace spscope
