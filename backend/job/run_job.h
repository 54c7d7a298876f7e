// Runs a job: settings are picked where `all` is asked for; then every layer of every denoise step under every
// strategy, into the shards of a collection.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "backend/collect/run_progress.h"
#include "backend/collect/run_recorder.h"
#include "backend/execute/rank_world.h"
#include "backend/job/job.h"
#include "backend/store/store_writer.h"

namespace spscope {

// Where a process of a run writes.
struct RunTarget {
  StoreWriter* head = nullptr;      // every small table; nullptr: another process is the head
  RunRecorder* recorder = nullptr;  // events of what is executed; nullptr: nothing is
};

struct RunOptions {
  std::string dump;                              // folder of --dump; "": none
  const std::atomic<bool>* interrupt = nullptr;  // set by a signal
  std::function<void(const RunProgress&)> on_progress;
  std::function<void(const std::string&)> on_note;  // what the user should know before a long run
  // Told before anything runs, and again with each strategy of the first layer: how many events of `size_of_ranks`,
  // ascending, are still to come at least, those of collectors among them; of all ranks where none are named. Its Error
  // ends the run.
  std::function<void(std::int64_t)> on_size;
  std::vector<int> size_of_ranks;
  int shards = 0;     // of the collection, for progress
  bool masks = true;  // in the head; not needed in a file that is removed after its comparison was read
  // The processes that run a rank each, this being one of them; nullptr: ranks are threads of this process.
  RankWorld* world = nullptr;
  // What else goes into the head with each layer that is complete.
  std::function<void(StoreWriter&)> add_to_layer;
};

// How far a run came. A layer that was interrupted is left out whole, so that all strategies compare over the same
// layers.
struct RunOutcome {
  int layer_passes_done = 0, layer_passes = 0;
  RunProgress progress;  // the last one
  bool interrupted() const { return layer_passes_done < layer_passes; }
};

// The head is committed whenever a layer is complete, and before events of a run come, so that what a crash leaves can
// be told apart: runs of a layer that is not complete are not finished. Runs are numbered in the order in which they
// begin, in every process of a run alike.
// Throws Error: what is in the shards is whole up to then. An interrupt is no error.
RunOutcome run_job(const Job& asked, const RunTarget& target, const RunOptions& options);

}  // namespace spscope
