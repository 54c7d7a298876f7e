// The tiles of tile_owners.h, with the cells of a thumbnail as blocks.
#include "backend/analysis/owner_map.h"

#include <algorithm>

#include "backend/analysis/tile_owners.h"
#include "backend/store/records.h"

namespace spscope {
namespace {

// Where cells begin in whole tokens; of fewer tokens than cells some begin at the same one.
std::vector<std::int32_t> cell_begins(std::int32_t tokens) {
  std::vector<std::int32_t> begins;
  for (std::int64_t cell = 0; cell < DensityThumbnail::kSide; ++cell)
    begins.push_back(static_cast<std::int32_t>(cell * tokens / DensityThumbnail::kSide));
  return begins;
}

}  // namespace

std::vector<OwnerMap> owner_maps(const Plan& plan, AttendedAxis axis, int heads) {
  const std::int32_t tokens = axis == AttendedAxis::kInner ? plan.inner_tokens : plan.outer_tokens;
  const std::vector<std::int32_t> begins = cell_begins(tokens);
  std::vector<std::int32_t> cuts = begins;
  cuts.push_back(tokens);
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  std::vector<std::size_t> cut_of;  // by cell
  for (const std::int32_t begin : begins)
    cut_of.push_back(static_cast<std::size_t>(std::ranges::lower_bound(cuts, begin) - cuts.begin()));
  const TileOwners owners(plan, axis, cuts);
  std::vector<OwnerMap> maps;
  for (int head = 0; head < heads; ++head) {
    const std::vector<std::int32_t> ranks = owners.ranks_of_head(head);
    OwnerMap& map = maps.emplace_back();
    for (const std::size_t row : cut_of)
      for (const std::size_t column : cut_of) map.push_back(ranks[row * (cuts.size() - 1) + column]);
  }
  return maps;
}

}  // namespace spscope
