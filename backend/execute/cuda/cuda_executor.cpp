// The executor of GPU ranks of one process: each rank has a device, which several may share, and messages are copies of
// the copy engines from arena to arena (`peer`).
#include <algorithm>
#include <memory>

#include "backend/execute/cuda/calibrate.h"
#include "backend/execute/cuda/cannot_run.h"
#include "backend/execute/cuda/cuda_run.h"
#include "backend/execute/cuda/driver.h"
#include "backend/execute/cuda/enqueue.h"
#include "backend/execute/cuda/follow.h"
#include "backend/execute/cuda/measure.h"
#include "backend/execute/cuda_rows.h"

namespace spscope {
namespace cuda {
namespace {

class CudaExecution final : public Execution {
 public:
  CudaExecution(const Plan& plan, const Request& request, const Activations& activations, const ExecuteOptions& options)
      : activations_(activations), run_(std::make_shared<CudaRun>(plan, request, options, RankView::all(plan.ranks))) {}

  void allocate() override;
  void run(int repeat) override;
  std::vector<std::int64_t> peak_bytes() const override { return run_->peak_bytes(); }
  std::vector<std::int64_t> staging_peak_bytes() const override { return run_->staging_peak_bytes(); }
  void finish(ExecuteResult& result) override;

 private:
  const Activations& activations_;
  const std::shared_ptr<CudaRun> run_;
  std::vector<Timeline> timelines_;
};

void CudaExecution::allocate() {
  const int devices = static_cast<int>(gpus().size()), ranks_per_node = run_->options.ranks_per_node;
  run_->take_devices([devices](int rank) { return rank % devices; });
  run_->make_words();
  run_->make_ops(activations_, [ranks_per_node](int rank) { return ranks_per_node > 0 ? rank / ranks_per_node : 0; });
  run_->control = std::make_unique<RunControl>(run_->program.plan(), run_->options.recorder);
  run_->system.computes = computes_unknown;
}

void CudaExecution::run(int repeat) {
  run_->control->reset();
  run_->start_repeat();
  const std::int64_t start_ns = run_repeat(run_, repeat);
  if (repeat >= 0) timelines_.push_back(timeline_since(start_ns, run_->times));
}

void CudaExecution::finish(ExecuteResult& result) {
  for (const Timeline& timeline : timelines_) result.makespan_ns.push_back(timeline.makespan_ns());
  result.timelines = std::move(timelines_);
  result.traffic = run_->traffic->bytes();
  result.host_post_ns = run_->host_post_ns();
  std::vector<std::vector<float>> held;
  for (int rank = 0; rank < run_->program.plan().ranks; ++rank) held.push_back(run_->read_outputs(rank));
  result.outputs = run_->program.outputs().gather(held);
  if (static_cast<std::size_t>(run_->program.plan().ranks) > gpus().size())
    result.provenance.timing = Timing::kOversubscribed;
}

std::unique_ptr<Execution> prepare(const Plan& plan, const Request& request, const Activations& activations,
                                   const ExecuteOptions& options) {
  return std::make_unique<CudaExecution>(plan, request, activations, options);
}

}  // namespace
}  // namespace cuda

Executor executor_cuda() {
  return cuda_threads_row({.unavailable = [] { return cuda::driver_missing(); },
                           .cannot_run = cuda::cuda_cannot_run,
                           .prepare = cuda::prepare,
                           .measure = cuda::measure,
                           .calibrate = cuda::calibrate});
}

}  // namespace spscope
