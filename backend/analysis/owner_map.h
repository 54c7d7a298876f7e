// Who computes what of a head, as coarse as its thumbnail: for pictures of all heads beside each other.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/mask/block_mask.h"
#include "backend/plan/plan.h"

namespace spscope {

// The rank of each cell of a DensityThumbnail, row by row: the one that computes most of the attention that its queries
// and keys have under a plan, whether active or not; -1 where nobody does, TileOwners::kSeveralRanks where none does
// more than half.
using OwnerMap = std::vector<std::int32_t>;

// One for each of the first `heads` heads of the attention along an axis. REQUIRES: the axis has tokens.
std::vector<OwnerMap> owner_maps(const Plan& plan, AttendedAxis axis, int heads);

}  // namespace spscope
