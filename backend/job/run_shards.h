// RunShards: what one process of a run writes while it runs: the head shard, when it is the head, and the shard, the
// now page and the recorder of its ranks, when ranks are executed here.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/collect/collection.h"
#include "backend/job/run_job.h"

namespace spscope {

struct RunShardsOptions {
  bool head = true;
  int first_rank = 0, ranks = 0;  // that are executed in this process; 0 ranks: none
  int node = 0;                   // number of this host
  // run.collect and run.device, by which collectors of this process are started.
  std::vector<std::string> collect = {};
  std::string device = "cpu";
  std::string tool_version;
  // When the events of ranks cannot be written any more; by another thread.
  std::function<void()> on_failure;
};

class RunShards {
 public:
  // Starts the collectors. Throws Error: a shard cannot be made, or a collector that is named cannot collect.
  RunShards(const CollectingNote& note, const RunShardsOptions& options);
  ~RunShards();
  RunShards(const RunShards&) = delete;
  RunShards& operator=(const RunShards&) = delete;

  RunTarget target();
  int num_shards() const { return (head_ ? 1 : 0) + (ranks_ ? 1 : 0); }
  // What stopped the run; goes into the head, behind what the recorder knows of it. REQUIRES: this is the head.
  void add_incident(const IncidentRecord& incident);
  // Makes the shards complete. Throws Error when the head cannot be written.
  void finish();
  // The first half of it: the shard of ranks is complete, the head is committed and can still be written to.
  void finish_ranks();
  // Which collectors do not collect here, and why.
  std::vector<std::string> collectors_left_out() const;
  // Why events are missing, if the shard of ranks could not be written any more.
  std::optional<Error> failure() const;

 private:
  struct Ranks;
  std::optional<StoreWriter> head_;
  std::unique_ptr<Ranks> ranks_;
  bool ranks_finished_ = false;
};

}  // namespace spscope
