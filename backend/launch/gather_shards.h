// Brings the shards of a run's other hosts to the folder of rank 0, where merge_shards finds them, and tells all ranks
// what became of it.
#pragma once

#include <optional>

#include "backend/execute/rank_world.h"
#include "backend/launch/host_folders.h"

namespace spscope {

// Every rank calls it, after its shards are finished. Sends the shard and the now page of each rank on another host,
// one rank after the other, once there is room for all of them. Nothing: all of them are in the home folder and
// durable, and its note says so. An Error, the same at all ranks, names hosts, folders and bytes; nothing of what came
// is left then, and all folders stay as they were. Throws Error when the world itself fails.
std::optional<Error> gather_shards(RankWorld& world, HostFolders& folders);

}  // namespace spscope
