// The thread executor: all ranks are threads of this process (lane_run.h), and messages are copies.
#include <array>

#include "backend/base/cores.h"
#include "backend/execute/cpu/cpu_device.h"
#include "backend/execute/cpu/thread_communicator.h"
#include "backend/execute/lanes/lane_run.h"

namespace spscope {
namespace {

class ThreadsExecution final : public Execution {
 public:
  ThreadsExecution(const Plan& plan, const Request& request, const Activations& activations,
                   const ExecuteOptions& options)
      : activations_(activations), run_(std::make_shared<LaneRun>(plan, options, RankView::all(plan.ranks))) {
    auto device = std::make_unique<CpuDevice>(run_->program, request, activations.parameters);
    device_ = device.get();
    run_->device = std::move(device);
  }

  void allocate() override {
    const Plan& plan = run_->program.plan();
    device_->allocate(run_->options.poison);
    run_->control = std::make_unique<RunControl>(plan, run_->options.recorder);
    run_->communicator =
        std::make_unique<ThreadCommunicator>(plan, device_->memory(), *run_->control, run_->options.ranks_per_node);
  }

  void run(int repeat) override {
    run_->control->reset();
    run_->communicator->reset();
    fill_inputs(*run_, activations_);
    const std::int64_t start_ns = run_lanes(run_, repeat);
    if (repeat >= 0) timelines_.push_back(timeline_since(start_ns, run_->times));
  }

  std::vector<std::int64_t> peak_bytes() const override { return run_->device->peak_bytes(); }
  std::vector<std::int64_t> staging_peak_bytes() const override { return run_->staging_peak_bytes(); }

  void finish(ExecuteResult& result) override {
    for (const Timeline& timeline : timelines_) result.makespan_ns.push_back(timeline.makespan_ns());
    result.timelines = std::move(timelines_);
    result.traffic = run_->communicator->traffic();
    result.outputs = gather_outputs(*run_);
    if (run_->program.plan().ranks * run_->options.threads_per_rank > usable_cores())
      result.provenance.timing = Timing::kOversubscribed;
  }

 private:
  const Activations& activations_;
  const std::shared_ptr<LaneRun> run_;
  CpuDevice* device_ = nullptr;  // of the run
  std::vector<Timeline> timelines_;
};

std::unique_ptr<Execution> prepare(const Plan& plan, const Request& request, const Activations& activations,
                                   const ExecuteOptions& options) {
  return std::make_unique<ThreadsExecution>(plan, request, activations, options);
}

}  // namespace

Executor executor_threads() {
  static constexpr std::array<std::string_view, 1> kComms = {"memory"};
  return {.device = "cpu",
          .backend = "threads",
          .comms = kComms,
          .summary = "a thread of this process for each lane of each rank; real messages through memory",
          .unavailable = [] { return std::string_view(); },
          .cannot_run = cpu_cannot_run,
          .prepare = prepare};
}

}  // namespace spscope
