// The MPI executor of the CPU: this process runs one rank of the plan (lane_run.h); ranks of its node see its memory.
#include <algorithm>
#include <memory>
#include <vector>

#include "backend/base/ids.h"
#include "backend/execute/cpu/cpu_device.h"
#include "backend/execute/cpu/mpi_row.h"
#include "backend/execute/lanes/lane_run.h"
#include "backend/execute/mpi/mpi_communicator.h"
#include "backend/execute/mpi/mpi_execution.h"
#include "backend/execute/program/slot_places.h"

namespace spscope {
namespace mpi {
namespace {

// Of lanes that wait for messages of other nodes, where there are cores enough: until waking up, at 50 us, is little
// beside the wait.
constexpr std::int64_t kLaneSpinNs = 1'000'000;

// Memory for the board and the shared slots of the node.
NodeBoard share_memory(MpiWorld& world, const Plan& plan, const MemoryLayout& layout, SharedSlots& shared) {
  const std::vector<int>& node = world.ranks_of_node();
  const SlotPlaces places =
      place_slots(plan, layout,
                  shared_slots(
                      plan, layout, [&](int rank, int other) { return world.node_of(rank) == world.node_of(other); },
                      [&](int rank) { return std::ranges::binary_search(node, rank); }));
  const std::size_t num_slots = layout.slots().size(), states_bytes = whole_lines(num_slots * sizeof(SlotState));
  NodeBoard board(plan, states_bytes + at(plan.ranks) * sizeof(MemoryAccount));
  std::vector<std::int64_t> bytes;
  for (int rank : node) bytes.push_back(places.bytes_of_rank[at(rank)]);
  share_board(world, std::move(bytes), board);

  shared.states = {reinterpret_cast<SlotState*>(board.added.data()), num_slots};
  shared.accounts = {reinterpret_cast<MemoryAccount*>(board.added.data() + states_bytes), at(plan.ranks)};
  shared.memory.assign(num_slots, nullptr);
  for (std::size_t i = 0; i < node.size(); ++i)
    for (SlotId slot = 0; slot < static_cast<SlotId>(num_slots); ++slot)
      if (layout.slot(slot).rank == node[i] && places.offset[at(slot)] >= 0)
        shared.memory[at(slot)] = board.segments[i] + places.offset[at(slot)];
  return board;
}

class MpiCpuExecution final : public MpiExecution {
 public:
  MpiCpuExecution(MpiWorld& world, const Activations& activations, std::shared_ptr<LaneRun> run,
                  std::unique_ptr<CpuDevice> device)
      : MpiExecution(world, run), activations_(activations), run_(std::move(run)), device_(device.get()) {
    run_->device = std::move(device);
  }

  void allocate() override;
  std::vector<std::int64_t> peak_bytes() const override { return run_->device->peak_bytes(); }
  std::vector<std::int64_t> staging_peak_bytes() const override { return run_->staging_peak_bytes(); }

 private:
  void begin_epoch() override { communicator_->node_messages().begin_epoch(world().next_epoch()); }
  void reset() override { communicator_->reset(); }
  void fill() override { fill_inputs(*run_, activations_); }
  std::int64_t run_rank(int repeat, const std::function<void()>& meet) override {
    return run_lanes(run_, repeat, meet);
  }
  void finish_epoch() override { communicator_->node_messages().finish_epoch(); }
  CountedBytes traffic() const override { return communicator_->traffic(); }
  std::vector<float> read_outputs() override { return device_->read_outputs(world().rank()); }

  const Activations& activations_;
  const std::shared_ptr<LaneRun> run_;
  CpuDevice* const device_;                  // of the run
  MpiCommunicator* communicator_ = nullptr;  // of the run
};

void MpiCpuExecution::allocate() {
  const Plan& plan = run_->program.plan();
  SharedSlots shared;
  NodeBoard board = share_memory(world(), plan, run_->program.layout(), shared);
  device_->allocate(run_->options.poison, std::move(shared));
  world().barrier();  // the board is clear
  make_control(board, [this](int rank) { return communicator_->node_messages().silence(rank); });
  if (world().num_nodes() > 1 && world().timed_waiting() == Waiting::kSpins) run_->control->set_spin_ns(kLaneSpinNs);
  device_->memory().watch_stop(run_->control->stopping());
  auto communicator = std::make_unique<MpiCommunicator>(world(), *run_, device_->memory(),
                                                        node_sorter(world(), run_->options.ranks_per_node));
  communicator_ = communicator.get();
  run_->communicator = std::move(communicator);
}

std::unique_ptr<Execution> prepare(const Plan& plan, const Request& request, const Activations& activations,
                                   const ExecuteOptions& options) {
  MpiWorld& world = world_of(plan, options);
  auto run = std::make_shared<LaneRun>(plan, options, view_of(world));
  auto device = std::make_unique<CpuDevice>(run->program, request, activations.parameters);
  return std::make_unique<MpiCpuExecution>(world, activations, std::move(run), std::move(device));
}

}  // namespace
}  // namespace mpi

Executor executor_mpi() { return mpi_row(mpi::prepare); }

}  // namespace spscope
