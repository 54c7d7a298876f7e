#include "backend/execute/mpi/mpi_execution.h"

#include <limits>
#include <optional>

#include "backend/base/ids.h"
#include "backend/base/process.h"
#include "backend/base/result.h"
#include "backend/execute/agree.h"
#include "backend/record/computing.h"

namespace spscope::mpi {
namespace {

// Of the processes on this node what the system says; of others, whether they are heard of.
SystemView system_view(const MpiWorld& world, std::function<std::string(int)> silence, double patience_seconds) {
  const auto is_near = [&world](int rank) { return world.node_of(rank) == world.node_of(world.rank()); };
  const auto is_stopped = [&world](int rank) {
    const std::optional<ProcessFacts> facts = read_process(world.place(rank).pid);
    return facts && facts->stopped();
  };
  SystemView view;
  view.why_lost = [&world, silence = std::move(silence), is_near, is_stopped](int rank) -> std::string {
    // The first process of the node receives the reports of others.
    if (!is_near(rank)) return is_stopped(world.ranks_of_node().front()) ? "" : silence(rank);
    if (!is_stopped(rank)) return {};
    const int pid = world.place(rank).pid;
    return "its process " + std::to_string(pid) + " is stopped by a signal and goes on after kill -CONT " +
           std::to_string(pid);
  };
  view.computes = [&world, is_near, patience_seconds](std::span<const int> ranks) {
    std::vector<int> pids;
    for (const int rank : ranks)
      if (is_near(rank)) pids.push_back(world.place(rank).pid);
    const std::vector<std::optional<bool>> near = which_compute(pids, patience_seconds);
    std::vector<std::optional<bool>> computes;
    for (auto next = near.begin(); const int rank : ranks) computes.push_back(is_near(rank) ? *next++ : true);
    return computes;
  };
  return view;
}

}  // namespace

RankView view_of(const MpiWorld& world) {
  RankView view{{world.rank(), 1}, std::vector<bool>(at(world.size()), false)};
  for (int rank : world.ranks_of_node()) view.shares_memory[at(rank)] = true;
  return view;
}

std::function<int(int)> node_sorter(const MpiWorld& world, int ranks_per_node) {
  if (world.num_nodes() > 1) return [&world](int rank) { return world.node_of(rank); };
  return [ranks_per_node](int rank) { return ranks_per_node > 0 ? rank / ranks_per_node : 0; };
}

MpiWorld& world_of(const Plan& plan, const ExecuteOptions& options) {
  auto* const world = dynamic_cast<MpiWorld*>(options.world);
  if (world == nullptr)
    throw Error(ErrorCode::kLaunch, "ranks of MPI run in processes that mpirun or srun starts",
                "use --launcher mpi, or --launcher threads");
  if (world->size() != plan.ranks)
    throw Error(ErrorCode::kLaunch,
                "the plan has " + std::to_string(plan.ranks) + " ranks, and " + std::to_string(world->size()) +
                    " processes were started",
                "start as many as cluster.ranks says");
  return *world;
}

void MpiExecution::make_control(NodeBoard& board, std::function<std::string(int)> silence) {
  throw_agreed(world_, failure_of([&] { place_lines(world_, run_->program.plan(), run_->options.recorder, board); }));
  run_->control = std::make_unique<RunControl>(run_->program.plan(), board.control);
  run_->system = system_view(world_, std::move(silence), run_->options.watchdog_seconds);
}

// Comes to a barrier even when the run stops, since the others do. When one does not come then, the reason to stop is
// thrown, so that what was recorded is kept; nothing can be agreed on any more, and leave_together() will fail. After
// an interrupt, which others may not have met, or with a lane left behind, all processes are ended at once.
void MpiExecution::come_together(double patience_seconds, Waiting waiting) {
  ProgressWatch progress(*run_, patience_seconds);
  const bool came = world_.barrier_unless([&] { return progress.look(); }, waiting);
  if (came && run_->all_left) return;
  const std::optional<StopReason> reason = run_->control->await_reason(0);
  if (!reason || reason->code == ErrorCode::kInterrupted || !run_->all_left)
    world_.abort(reason ? render(reason->error()) : "a rank does not come back");
  throw reason->error();
}

// The board is cleared between two barriers, when no thread of any process runs and no process handles messages of the
// last repeat any more: a late one would set a flag of the clear board.
void MpiExecution::run(int repeat) {
  begin_epoch();
  // Between repeats a rank may take its time: the first one tells people.
  come_together(std::numeric_limits<double>::infinity());
  if (world_.rank() == world_.ranks_of_node().front()) run_->control->reset();
  reset();
  const double patience_seconds = run_->options.watchdog_seconds;
  std::int64_t start_ns = 0;
  bool met = false;
  const auto meet = [&] {
    met = true;
    // All begin when it is over.
    const std::optional<Error> absent = failure_of([&] { come_together(patience_seconds, world_.timed_waiting()); });
    if (absent) run_->control->stop();  // and the second barrier throws
  };
  const std::optional<Error> failure = failure_of([&] {
    fill();
    start_ns = run_rank(repeat, meet);
  });
  if (!met) {  // no thread has started, and the others wait
    run_->control->stop({failure->code(), {world_.rank(), -1, kNone, false, failure->what()}});
    meet();
  }
  come_together(patience_seconds);
  finish_epoch();
  if (failure) throw *failure;
  if (const std::optional<StopReason> reason = run_->control->reason()) throw reason->error();
  if (repeat >= 0) mine_.add_repeat(*run_, world_.rank(), start_ns);
}

void MpiExecution::finish(ExecuteResult& result) {
  mine_.outputs = read_outputs();
  result.host_post_ns = world_.sum(host_post_ns());
  collect(world_, *run_, traffic(), std::move(mine_), result);
  if (oversubscribed()) result.provenance.timing = Timing::kOversubscribed;
  close();
  world_.barrier();  // nobody uses the board any more
}

}  // namespace spscope::mpi
