// MpiExecution: an execution of which this process runs one rank, whatever its device. The processes start each repeat
// together, stop together, and bring what they know to rank 0. An executor derives from it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/execute/lanes/rank_run.h"
#include "backend/execute/mpi/mpi_world.h"
#include "backend/execute/mpi/node_board.h"
#include "backend/execute/mpi/rank_results.h"

namespace spscope::mpi {

class MpiExecution : public Execution {
 public:
  void run(int repeat) final;
  void finish(ExecuteResult& result) final;

 protected:
  // `run` is the one of the executor.
  MpiExecution(MpiWorld& world, std::shared_ptr<RankRun> run) : world_(world), run_(std::move(run)) {}

  MpiWorld& world() { return world_; }
  // Makes the control of the run and what the system knows of the processes. `silence`: of a rank of another node, why
  // it is lost; "": it is not. Collective.
  void make_control(NodeBoard& board, std::function<std::string(int rank)> silence);

  // -- each repeat, in this order. None is called while threads of the run are at work.
  virtual void begin_epoch() {}  // messages of this repeat may come from now on
  virtual void reset() = 0;      // bytes are counted anew
  virtual void fill() = 0;       // inputs are where the plan has them; may throw Error
  virtual std::int64_t run_rank(int repeat, const std::function<void()>& meet) = 0;  // run_threads()
  virtual void finish_epoch() {}
  // -- after the last
  virtual CountedBytes traffic() const = 0;
  virtual std::vector<std::int64_t> host_post_ns() const { return {}; }  // of this rank, by rank: others have 0
  virtual std::vector<float> read_outputs() = 0;                         // of this rank (OutputGather)
  virtual void close() {}  // this process does not touch memory of others any more
  virtual bool oversubscribed() const { return world_.oversubscribed(); }

 private:
  void come_together(double patience_seconds, Waiting waiting = Waiting::kIdles);

  MpiWorld& world_;
  const std::shared_ptr<RankRun> run_;
  RankResult mine_;
};

// What a process sees of the ranks: it runs its own, and reaches memory of those on its node.
RankView view_of(const MpiWorld& world);
// Processes on one node sort bytes by the nodes of the config, as thread ranks do.
std::function<int(int rank)> node_sorter(const MpiWorld& world, int ranks_per_node);
// The world of the options. Throws Error(kLaunch): ranks were not started by MPI, or not as many as the plan has.
MpiWorld& world_of(const Plan& plan, const ExecuteOptions& options);

}  // namespace spscope::mpi
