// The executor of GPU ranks in processes of their own, on one host: each process maps the arenas of the others (IPC),
// and streams wait for words in memory that all share.
#include <cstring>
#include <memory>
#include <set>

#include "backend/base/result.h"
#include "backend/execute/agree.h"
#include "backend/execute/cuda/cannot_run.h"
#include "backend/execute/cuda/cuda_run.h"
#include "backend/execute/cuda/driver.h"
#include "backend/execute/cuda/follow.h"
#include "backend/execute/cuda/measure.h"
#include "backend/execute/cuda_rows.h"
#include "backend/execute/mpi/mpi_execution.h"

namespace spscope {
namespace cuda {
namespace {

using mpi::MpiWorld;
using mpi::NodeBoard;

class CudaMpiExecution final : public mpi::MpiExecution {
 public:
  CudaMpiExecution(MpiWorld& world, const Activations& activations, std::shared_ptr<CudaRun> run)
      : MpiExecution(world, run), activations_(activations), run_(std::move(run)) {}

  void allocate() override;
  std::vector<std::int64_t> peak_bytes() const override { return run_->peak_bytes(); }
  std::vector<std::int64_t> staging_peak_bytes() const override { return run_->staging_peak_bytes(); }

 private:
  void find_shared_gpus();
  void open_arenas();
  void reset() override {}
  void fill() override { run_->start_repeat(); }
  std::int64_t run_rank(int repeat, const std::function<void()>& meet) override {
    return run_repeat(run_, repeat, meet);
  }
  CountedBytes traffic() const override { return run_->traffic->bytes(); }
  std::vector<std::int64_t> host_post_ns() const override { return run_->host_post_ns(); }
  std::vector<float> read_outputs() override { return run_->read_outputs(world().rank()); }
  void close() override { run_->opened.clear(); }
  bool oversubscribed() const override { return shares_gpus_; }

  const Activations& activations_;
  const std::shared_ptr<CudaRun> run_;
  std::unique_ptr<RegisteredMemory> registered_;  // the words
  bool shares_gpus_ = false;
};

// By what the GPUs are: each process may see others, as with one GPU a task in Slurm.
void CudaMpiExecution::find_shared_gpus() {
  const int device = run_->ranks.front().gpu->context().device();
  const std::vector<std::string> all = world().share_in_node(gpus()[static_cast<std::size_t>(device)].uuid);
  shares_gpus_ = std::set<std::string>(all.begin(), all.end()).size() < all.size();
}

// Handles of all arenas, in the order of ranks: those of this node, which is the only one.
void CudaMpiExecution::open_arenas() {
  std::string mine(sizeof(CUipcMemHandle), 0);
  const DeviceMemory& arena = *run_->ranks.front().arena;
  throw_agreed(world(), failure_of([&] {
                 if (arena.num_bytes() == 0) return;
                 const CUipcMemHandle handle = arena.ipc_handle();
                 std::memcpy(mine.data(), &handle, sizeof handle);
               }));
  const std::vector<std::string> all = world().share_in_node(mine);
  throw_agreed(world(), failure_of([&] {
                 for (int rank = 0; rank < world().size(); ++rank) {
                   if (rank == world().rank() || run_->slots.arena_bytes(rank) == 0) continue;
                   CUipcMemHandle handle{};
                   std::memcpy(&handle, all[static_cast<std::size_t>(rank)].data(), sizeof handle);
                   run_->open_arena(rank, handle);
                 }
               }));
}

void CudaMpiExecution::allocate() {
  const Plan& plan = run_->program.plan();
  const int devices = static_cast<int>(gpus().size());
  NodeBoard board(plan, plan.ops.size() * sizeof(OpWord));
  share_board(world(), std::vector<std::int64_t>(static_cast<std::size_t>(world().size())), board);
  world().barrier();  // the board is clear
  throw_agreed(
      world(), failure_of([&] {
        run_->take_devices([devices](int rank) { return rank % devices; });
        registered_ = std::make_unique<RegisteredMemory>(run_->ranks.front().gpu->context(), board.added);
        run_->words = OpWords({reinterpret_cast<OpWord*>(board.added.data()), plan.ops.size()}, registered_->address());
      }));
  find_shared_gpus();
  open_arenas();
  throw_agreed(world(),
               failure_of([&] { run_->make_ops(activations_, node_sorter(world(), run_->options.ranks_per_node)); }));
  make_control(board, [](int) { return std::string(); });
  run_->system.computes = computes_unknown;
}

std::unique_ptr<Execution> prepare(const Plan& plan, const Request& request, const Activations& activations,
                                   const ExecuteOptions& options) {
  MpiWorld& world = mpi::world_of(plan, options);
  if (world.num_nodes() > 1)
    throw Error(ErrorCode::kCannotExecute, "GPU ranks of one run reach each other's memory, and must be on one host",
                "start all ranks on one host, or set run.device = \"cpu\"");
  return std::make_unique<CudaMpiExecution>(world, activations,
                                            std::make_shared<CudaRun>(plan, request, options, mpi::view_of(world)));
}

}  // namespace
}  // namespace cuda

Executor executor_cuda_mpi() {
  return cuda_mpi_row({.unavailable =
                           [] {
                             const Problem no_mpi = mpi_unavailable();
                             return no_mpi.message.empty() ? cuda::driver_missing() : no_mpi;
                           },
                       .cannot_run = cuda::cuda_cannot_run,
                       .prepare = cuda::prepare,
                       .measure = cuda::measure,
                       .calibrate = nullptr});
}

}  // namespace spscope
