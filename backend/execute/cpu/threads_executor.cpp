// The thread executor: all ranks are threads of this process (lane_run.h), and messages are copies.
#include <array>
#include <memory>

#include "backend/execute/calibrate/calibrate.h"
#include "backend/execute/cpu/cpu_device.h"
#include "backend/execute/cpu/measure.h"
#include "backend/execute/cpu/thread_communicator.h"
#include "backend/execute/lanes/local_execution.h"

namespace spscope {
namespace {

class ThreadsExecution final : public LocalExecution {
 public:
  ThreadsExecution(const Plan& plan, const Request& request, const Activations& activations,
                   const ExecuteOptions& options)
      : LocalExecution(plan, activations, options), device_(make_device<CpuDevice>(request, activations.parameters)) {}

  void allocate() override {
    const Plan& plan = lanes().program.plan();
    device_.allocate(lanes().options.poison);
    lanes().control = std::make_unique<RunControl>(plan, lanes().options.recorder);
    device_.memory().watch_stop(lanes().control->stopping());
    lanes().communicator =
        std::make_unique<ThreadCommunicator>(plan, device_.memory(), *lanes().control, lanes().options.ranks_per_node);
  }

 private:
  CpuDevice& device_;  // of the run
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
          .ranks_are_processes = false,
          .summary = "a thread of this process for each lane of each rank; real messages through memory",
          .unavailable = [] { return Problem(); },
          .cannot_run = cpu_cannot_run,
          .prepare = prepare,
          .measure = measure_repeats,
          .calibrate = calibrate_cpu};
}

}  // namespace spscope
