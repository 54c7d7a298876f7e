// LocalExecution: an execution whose ranks are all threads of this process, whatever their device. An executor derives
// from it, makes its device in its constructor, and in allocate() the memory, the control and the communicator.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "backend/execute/execute.h"
#include "backend/execute/lanes/lane_run.h"

namespace spscope {

class LocalExecution : public Execution {
 public:
  LocalExecution(const Plan& plan, const Activations& activations, const ExecuteOptions& options);

  void run(int repeat) final;
  std::vector<std::int64_t> peak_bytes() const final { return run_->device->peak_bytes(); }
  std::vector<std::int64_t> staging_peak_bytes() const final { return run_->staging_peak_bytes(); }
  void finish(ExecuteResult& result) final;

 protected:
  LaneRun& lanes() { return *run_; }
  // Makes the device of the run, for its program. Once.
  template <typename MadeDevice, typename... Arguments>
  MadeDevice& make_device(Arguments&&... arguments) {
    auto device = std::make_unique<MadeDevice>(run_->program, std::forward<Arguments>(arguments)...);
    MadeDevice& made = *device;
    run_->device = std::move(device);
    return made;
  }

 private:
  const Activations& activations_;
  const std::shared_ptr<LaneRun> run_;
  std::vector<Timeline> timelines_;
};

}  // namespace spscope
