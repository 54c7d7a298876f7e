// The rows of a run that say what its ranks did.
#pragma once

#include <vector>

#include "backend/store/records.h"
#include "backend/store/sqlite/sqlite.h"

namespace spscope {

// Throw Error (kStoreCorrupt): a row cannot be read, or holds what it cannot.
std::vector<RankUsage> load_usage(Database& db, RunId run);  // by rank
std::vector<Traffic> load_traffic(Database& db, RunId run);  // by src, dst, tensor

}  // namespace spscope
