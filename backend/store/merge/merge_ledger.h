// Where the events of each track of a merged file went, from the ledgers of the shards, the chunks that could be read,
// and what the now pages say was sent.
#pragma once

#include <span>
#include <vector>

#include "backend/store/merge/merge_events.h"

namespace spscope {

// In the order of the tracks.
std::vector<LedgerRecord> merged_ledger(std::span<const MergedTrack> tracks);

}  // namespace spscope
