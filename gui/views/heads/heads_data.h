// What the Heads view asks of a file: the thumbnails of a layer pass, the mask itself, and who computes each tile.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/analysis/tile_owners.h"
#include "backend/mask/block_mask.h"
#include "backend/store/store_reader.h"

namespace spscope::gui {

// All heads of one layer pass, as the file has them.
struct HeadPictures {                        // without thumbnails where the file has lost them
  std::vector<DensityThumbnail> thumbnails;  // by head
  std::vector<double> density;               // by head, of the thumbnail: 0 to 1
  MaskRecord record;
  bool both_axes = false;  // the model attends along space and along time, each with masks of its own
};
// Absent when there is no mask of this axis. `make_lost`: thumbnails that the file has lost are made from the mask,
// which takes as long as its recipe. Throws Error.
std::optional<HeadPictures> load_pictures(const StoreReader& reader, WorkloadId workload, int layer, int step,
                                          AttendedAxis axis, bool make_lost);

// The owners of one head under one strategy.
struct OwnedHead {
  HeadOwners owners;
  std::shared_ptr<const Plan> plan;
  std::shared_ptr<const TileOwners> tiles;
  std::vector<double> by_rank;  // active tiles of this head, by area
};
// Active tiles of each head.
std::vector<std::int64_t> tiles_by_head(const BlockMask& mask);
OwnedHead own_head(std::shared_ptr<const Plan> plan, AttendedAxis axis, const BlockMask& mask, int head);

}  // namespace spscope::gui
