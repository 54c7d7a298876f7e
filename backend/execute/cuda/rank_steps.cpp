#include "backend/execute/cuda/rank_steps.h"

#include <cmath>

#include "backend/base/ids.h"
#include "backend/execute/cpu/copy.h"
#include "backend/execute/cuda/driver.h"
#include "backend/plan/plan_access.h"

namespace spscope::cuda {

void RankSteps::list(const Plan& plan, const MemoryLayout& layout, int rank) {
  std::vector<bool> there(layout.slots().size(), false);
  for (OpId id = 0; id < static_cast<OpId>(plan.ops.size()); ++id) {
    const Op& op = plan.ops[at(id)];
    if (op.rank != rank || communicates(plan.kind_of(op))) continue;
    Step& step = steps_.emplace_back();
    step.op = id;
    const TouchedSlots touched = touched_slots(plan, layout, op);
    for (const SlotId slot : touched.read) {
      if (!there[at(slot)]) step.fills.push_back(slot);
      there[at(slot)] = true;
    }
    for (const SlotId slot : touched.written) there[at(slot)] = true;
  }
}

RankSteps::RankSteps(const Plan& plan, const Request& request, const Activations& activations,
                     const MemoryLayout& layout, DeviceSlots& slots, Gpu& gpu, int rank)
    : slots_(slots), gpu_(gpu), current_(gpu.context()), stream_(gpu.context()) {
  list(plan, layout, rank);
  arena_ = std::make_unique<DeviceMemory>(gpu.context(), static_cast<std::size_t>(slots.arena_bytes(rank)));
  slots.set_arena(rank, arena_->address());
  CellFinder finder(plan, layout);
  LaunchTable table;
  std::vector<SlotId> filled;
  for (Step& step : steps_) {
    step.work = make_work(plan, plan_op(plan, request, finder, slots, step.op), slots, gpu.facts(), table);
    for (const Launch& launch : step.work.launches) gpu.load(launch.kernel);
    step.begin = std::make_unique<Event>(gpu.context(), EventTiming::kTimed);
    step.end = std::make_unique<Event>(gpu.context(), EventTiming::kTimed);
    filled.insert(filled.end(), step.fills.begin(), step.fills.end());
  }
  table_ = std::make_unique<DeviceMemory>(gpu.context(), table.bytes().size());
  table_->write(table.bytes());
  for (Step& step : steps_)
    for (Launch& launch : step.work.launches) LaunchTable::move_to(table_->address(), launch);
  inputs_ = std::make_unique<HostMirror>(gpu.context(), layout, std::move(filled));
  for (const SlotId slot : inputs_->slots()) fill_slot(*inputs_, plan, activations, slot);
}

void RankSteps::enqueue() const {
  for (const Step& step : steps_) {
    for (const SlotId slot : step.fills) inputs_->upload(slot, slots_, stream_.get());
    check(driver().cuEventRecord(step.begin->get(), stream_.get()), "cuEventRecord");
    gpu_.enqueue(step.work, stream_.get());
    check(driver().cuEventRecord(step.end->get(), stream_.get()), "cuEventRecord");
  }
}

void RankSteps::enqueue_work() const {
  for (const Step& step : steps_) gpu_.enqueue(step.work, stream_.get());
}

std::vector<std::int64_t> RankSteps::wait() const {
  check(driver().cuStreamSynchronize(stream_.get()), "cuStreamSynchronize");
  std::vector<std::int64_t> ns;
  for (const Step& step : steps_) {
    float ms = 0;
    if (!step.work.is_empty())
      check(driver().cuEventElapsedTime(&ms, step.begin->get(), step.end->get()), "cuEventElapsedTime");
    ns.push_back(std::llround(double{ms} * 1e6));
  }
  return ns;
}

}  // namespace spscope::cuda
