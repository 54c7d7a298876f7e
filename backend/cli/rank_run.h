// The run of one rank's process, from its shards to the file: what the processes of a run do together, over however
// many hosts they are.
#pragma once

#include <optional>

#include "backend/cli/run_command.h"
#include "backend/launch/host_folders.h"

namespace spscope {

// What a rank's process knows at the end of a run.
struct RankEnd {
  bool begun = true;  // false: a rank could not make its shard, or there is no room for events, and nothing is kept
  Result<RunOutcome> outcome;
  std::optional<Error> lost;  // why events of some rank are missing; the same at all ranks
};

// Runs the job into the shard of this rank and, at rank 0, the head. All processes meet at its end; one that does not
// come after an error of another ends them all.
RankEnd run_rank(RankWorld& world, const RunFlags& flags, const Job& job, HostFolders& folders, RunOptions options);

// Brings the shards of all hosts together and, where `output` is, makes the file of them: at rank 0 when nobody else
// does. Folders of other hosts go when what they held is safe, or when nothing is to be kept. The Error, the same at
// all ranks, says where everything is when that could not be done.
std::optional<Error> keep_run(RankWorld& world, ProgressPrinter& printer, const RunFlags& flags, HostFolders& folders,
                              RunOutput* output, RankEnd& end);

}  // namespace spscope
