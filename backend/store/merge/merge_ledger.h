// Where the events of each stream of a merged file went, from the ledgers of the shards, the chunks that could be read,
// and what the now pages say was sent.
#pragma once

#include <span>
#include <vector>

#include "backend/store/merge/merge_events.h"

namespace spscope {

// In the order of the streams.
std::vector<LedgerRecord> merged_ledger(std::span<const MergedStream> streams);

}  // namespace spscope
