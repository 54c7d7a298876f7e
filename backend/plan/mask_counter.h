// MaskCounter: tiles of a block mask for interned sets, each counted once.
//
// A plan's (heads, q, k) are counted several times: when it is built, verified, scheduled and reported. Only executors
// list tiles. Not thread-safe.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "backend/base/flat_map.h"
#include "backend/mask/area_sums.h"
#include "backend/mask/block_mask.h"
#include "backend/plan/set_table.h"

namespace spscope {

class MaskCounter {
 public:
  MaskCounter(std::shared_ptr<SetTable> sets, BlockMask mask);

  const BlockMask& mask() const { return mask_; }
  // Counts of heads x rows x keys (block_mask.h).
  TileCount count(SetId heads, SetId q, SetId k);
  // In unrefined tiles, fractional by area, for reports.
  double coarse_tiles(SetId heads, SetId q, SetId k);
  // Marginals of the mask, counted at the first call and kept.
  const AreaSums& area_sums();
  // Blocks of keys (slices, of a refined mask) with an active tile for some of the heads and rows, ascending.
  std::vector<std::int32_t> needed_blocks(SetId heads, SetId q);
  // The tokens of each block, in order.
  std::span<const SetId> blocks();
  // This mask with every block cut into `slices`; 1 is this counter. Made once and kept.
  MaskCounter& refined(int slices);

 private:
  // How much was read for some heads and rows, and their column sums once that pays.
  struct Rows {
    SetId heads, q;
    std::int64_t words_read = 0;
    std::unique_ptr<ColumnSums> sums = nullptr;
    std::int32_t next = -1;  // another key with the same hash
  };

  const BlockCoverage& coverage(SetId tokens);
  TileCount count_anew(SetId heads, SetId q, SetId k);
  Rows& rows_of(SetId heads, SetId q);

  std::shared_ptr<SetTable> sets_;
  BlockMask mask_;
  std::vector<SetId> blocks_;
  std::optional<AreaSums> area_sums_;
  FlatMap<std::int32_t> coverage_ids_;  // set -> position in coverages_
  std::vector<std::unique_ptr<BlockCoverage>> coverages_;
  struct Counted {
    SetId heads, q, k;
    TileCount count;
    std::int32_t next = -1;  // another key with the same hash
  };
  FlatMap<std::int32_t> by_hash_;
  std::vector<Counted> counted_;
  FlatMap<std::int32_t> rows_by_hash_;
  std::vector<Rows> rows_;
  std::int64_t sums_bytes_ = 0;  // of all column sums that are kept
  std::map<int, std::unique_ptr<MaskCounter>> refined_;
};

}  // namespace spscope
