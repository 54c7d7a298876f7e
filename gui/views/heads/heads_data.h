// What the Heads view asks of a file: the thumbnails of a layer pass, the mask itself, who attends each head, and the
// large picture of one head under one strategy.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/analysis/tile_owners.h"
#include "backend/mask/block_mask.h"
#include "backend/store/store_reader.h"
#include "gui/ui/theme.h"

namespace spscope::gui {

// All heads of one layer pass, as the file has them.
struct HeadPictures {                        // without thumbnails where the file has lost them
  std::vector<DensityThumbnail> thumbnails;  // by head
  std::vector<double> shade;                 // by head, mean of a thumbnail: an order until the mask is there
  MaskRecord record;
  bool both_axes = false;  // the model attends along space and along time, each with masks of its own
};
// Absent when there is no mask of this axis. `make_lost`: thumbnails that the file has lost are made from the mask,
// which takes as long as its recipe. Throws Error.
std::optional<HeadPictures> load_pictures(const StoreReader& reader, WorkloadId workload, int layer, int step,
                                          AttendedAxis axis, bool make_lost);

// The mask of a layer pass, and of each head its density and its active tiles.
struct StepMask {
  explicit StepMask(BlockMask mask);
  BlockMask mask;
  std::vector<double> density;  // of pairs of tokens, 0 to 1
  std::vector<std::int64_t> tiles;
};

// The ranks that attend each head under a plan, ascending.
struct HeadRanks {
  int all = 0;  // ranks of the plan
  std::vector<std::vector<int>> of_head;
};
HeadRanks ranks_of_heads(const Plan& plan, AttendedAxis axis);
// "rank 3", "ranks 3, 7", "all 8 ranks"; "" for none.
std::string ranks_text(const HeadRanks& ranks, std::size_t head);

// The owners of one head under one strategy.
struct OwnedHead {
  HeadOwners owners;
  std::shared_ptr<const Plan> plan;
  std::shared_ptr<const TileOwners> tiles;
  std::vector<double> by_rank;  // active tiles of this head, by area
};
OwnedHead own_head(std::shared_ptr<const Plan> plan, AttendedAxis axis, const BlockMask& mask, int head);

// How tiles are coloured.
struct HeadColors {
  Appearance appearance = Appearance::kDark;
  bool owners = true;         // by who computes them
  bool by_ring_step = false;  // and not by rank
};
// One head large, as texels in the order R, G, B, A: its tiles, and beside and below them bars of how many are active
// in each row and column.
struct LargeHead {
  static constexpr int kBar = 16;  // texels of the longest bar: a whole row
  std::optional<OwnedHead> owned;  // absent without a plan
  HeadLoads loads;
  int blocks = 0;
  std::vector<std::uint32_t> tiles, row_bars, column_bars;
};
// `other`: another step, of which the difference is shown; nullptr: none. `plan`: nullptr where the file has none.
LargeHead large_head(std::shared_ptr<const Plan> plan, AttendedAxis axis, const BlockMask& mask, const BlockMask* other,
                     int head, const HeadColors& colors);

std::uint32_t texel(Rgb color);
// `share` of `over` on `under`.
Rgb blended(Rgb over, Rgb under, double share);

}  // namespace spscope::gui
