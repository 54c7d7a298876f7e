#include "backend/execute/lanes/local_execution.h"

#include "backend/base/cores.h"

namespace spscope {

LocalExecution::LocalExecution(const Plan& plan, const Activations& activations, const ExecuteOptions& options)
    : activations_(activations), run_(std::make_shared<LaneRun>(plan, options, RankView::all(plan.ranks))) {}

void LocalExecution::run(int repeat) {
  run_->control->reset();
  run_->communicator->reset();
  fill_inputs(*run_, activations_);
  const std::int64_t start_ns = run_lanes(run_, repeat);
  if (repeat >= 0) timelines_.push_back(timeline_since(start_ns, run_->times));
}

void LocalExecution::finish(ExecuteResult& result) {
  for (const Timeline& timeline : timelines_) result.makespan_ns.push_back(timeline.makespan_ns());
  result.timelines = std::move(timelines_);
  result.traffic = run_->communicator->traffic();
  result.outputs = gather_outputs(*run_);
  if (run_->program.plan().ranks * run_->options.threads_per_rank > usable_cores())
    result.provenance.timing = Timing::kOversubscribed;
}

}  // namespace spscope
