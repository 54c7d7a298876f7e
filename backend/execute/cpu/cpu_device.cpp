#include "backend/execute/cpu/cpu_device.h"

#include <utility>

#include "backend/execute/cpu/copy.h"

namespace spscope {

CpuDevice::CpuDevice(const Program& program, const Request& request, std::shared_ptr<LayerParameters> parameters)
    : program_(program),
      parameters_(std::move(parameters)),
      works_(program.plan().ops.size()),
      scratch_(static_cast<std::size_t>(program.plan().ranks)) {
  const Plan& plan = program.plan();
  CellFinder finder(plan, program.layout());
  for (std::size_t id = 0; id < plan.ops.size(); ++id) {
    const Op& op = plan.ops[id];
    if (!program.view().has(op.rank) || communicates(plan.kind_of(op))) continue;
    works_[id] = std::make_unique<ComputeWork>(prepare_compute(plan, request, parameters_.get(), finder, op));
  }
}

void CpuDevice::allocate(bool poison, SharedSlots shared) {
  store_ = std::make_unique<BufferStore>(program_.layout(), poison, program_.view().local, std::move(shared));
}

void CpuDevice::fill(SlotId slot, const Activations& activations) {
  store_->open(slot);
  fill_slot(*store_, program_.plan(), activations, slot);
}

std::vector<float> CpuDevice::read_outputs(int rank) const {
  return spscope::read_outputs(*store_, program_.outputs(), rank);
}

std::vector<std::int64_t> CpuDevice::staging_peak_bytes() const {
  std::vector<std::int64_t> bytes;
  for (const ComputeScratch& scratch : scratch_) bytes.push_back(scratch.staging_bytes());
  return bytes;
}

void CpuDevice::set_beat(int rank, std::function<void()> beat) {
  scratch_[static_cast<std::size_t>(rank)].beat = std::move(beat);
}

void CpuDevice::compute(int rank, OpId op) {
  run_compute(*works_[static_cast<std::size_t>(op)], *store_, open_, scratch_[static_cast<std::size_t>(rank)]);
}

}  // namespace spscope
