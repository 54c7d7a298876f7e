// CpuDevice: the memory of ranks in host memory and their compute ops on its cores, for executors whose lanes are
// threads of this process.
#pragma once

#include <memory>
#include <vector>

#include "backend/execute/cpu/buffer_store.h"
#include "backend/execute/cpu/compute_work.h"
#include "backend/execute/execute.h"
#include "backend/execute/lanes/device.h"
#include "backend/execute/program/program.h"

namespace spscope {

class CpuDevice final : public Device {
 public:
  // Makes the compute ops of the program's ranks ready to run. `program` outlives the device; `parameters` are those
  // of whole layers, nullptr otherwise. REQUIRES: cpu_cannot_run() finds nothing. Throws Error(kPlanNotHeld).
  CpuDevice(const Program& program, const Request& request, std::shared_ptr<LayerParameters> parameters);

  // Before the first repeat. Memory is taken when slots open; `shared`: what processes of a node share, and the slots
  // that lie in it. `poison`: see BufferStore.
  void allocate(bool poison, SharedSlots shared = {});
  // REQUIRES: allocate().
  BufferStore& memory() { return *store_; }

  void start(std::span<const std::int32_t> users) override { store_->start(users); }
  void fill(SlotId slot, const Activations& activations) override;
  std::vector<float> read_outputs(int rank) const override;
  std::vector<std::int64_t> peak_bytes() const override { return store_->peak_bytes(); }
  std::vector<std::int64_t> staging_peak_bytes() const override;
  void set_beat(int rank, std::function<void()> beat) override;
  void open(SlotId slot) override { store_->open(slot); }
  void release(SlotId slot) override { store_->release(slot); }
  void compute(int rank, OpId op) override;

 private:
  const Program& program_;
  const std::shared_ptr<LayerParameters> parameters_;
  std::vector<std::unique_ptr<ComputeWork>> works_;  // by op; nullptr: it moves data, or another process computes it
  std::vector<ComputeScratch> scratch_;              // by rank
  std::unique_ptr<BufferStore> store_;
  const std::function<bool(SlotId)> open_ = [this](SlotId slot) { return store_->open(slot); };
};

// Executor::cannot_run of executors whose ranks compute with the kernels of the CPU.
std::vector<Problem> cpu_cannot_run(const Plan& plan, const ExecuteOptions& options);

}  // namespace spscope
