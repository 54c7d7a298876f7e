// RunningJob: what the layer passes of a job share while it runs, in each process of the run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "backend/job/head_writer.h"
#include "backend/job/layer_times.h"
#include "backend/job/progress_count.h"
#include "backend/job/reference_cache.h"
#include "backend/job/run_job.h"

namespace spscope {

// A strategy of the job with the row it has in the store; illegal ones are stored and not run.
struct StoredStrategy {
  const ChosenStrategy* chosen;
  std::size_t position;  // in Job::strategies
  StrategyId id;         // where the head is
  bool legal;
  StrategyRecord record;  // whose meshes and label grow while layers are planned
};

// One strategy in one layer pass.
struct StrategyRun {
  const StoredStrategy* strategy;
  PlannedLayer planned;
  TimedLayer timed = {};
  RunId id = {};
  bool recorded = false;  // every event of its repeats is in a shard of ranks
  RunRecord record = {};
  std::vector<Traffic> traffic = {};  // where the head is
};

struct RunningJob {
  RunningJob(const Job& job, const RunTarget& target, const RunOptions& options);

  const Job& job;
  const RunOptions& options;
  RunRecorder* const recorder;  // RunTarget::recorder
  const HeadWriter head;
  ProgressCount progress;
  std::vector<StoredStrategy> strategies = {};  // from the first layer pass on
  WorkloadId workload = {};                     // where the head is
  ReferenceCache references = {};
  std::set<LayerBlock> dumped = {};     // blocks whose parameters are in the folder of --dump
  std::set<std::size_t> unjudged = {};  // positions of strategies with outputs that could not be checked

  // All processes of a run leave at the same place: each of them asks.
  bool interrupted() const;
  // Whether every event of the last plan is in a shard, in those of all processes.
  bool recorded() const;
  void note(const std::string& text) const {
    if (!text.empty() && options.on_note) options.on_note(text);
  }

  // The strategy has no plan for a layer, which every process finds by itself: it ends here, and the others go on.
  void refuse(StoredStrategy& strategy, const Error& error);
  // A plan that is about to be timed, with what is known of its run before. When it is executed, a reader of the shards
  // knows the run from now on.
  StrategyRun begin_run(const LayerOfJob& where, StoredStrategy& strategy, PlannedLayer planned);

 private:
  // The number of a layer pass's mesh, which is stored with the first pass that has it.
  std::size_t mesh_of(StoredStrategy& strategy, const RankMesh& mesh);
  // From the first plan of each strategy: how many events are still to come, and of the first how long it computes.
  void note_size(const StoredStrategy& strategy, const Plan& plan);

  std::int64_t begun_ = 0;            // runs
  std::set<std::size_t> sized_ = {};  // positions of strategies whose plan was counted
  double events_ = 0;                 // that these still make in all layers
  bool noted_ = false;
};

}  // namespace spscope
