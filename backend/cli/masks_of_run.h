// `spscope mask info RUN.db`: the masks of a stored run, and which rank computes how much of one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backend/analysis/tile_owners.h"
#include "backend/base/json.h"
#include "backend/store/store_reader.h"

namespace spscope {

// A mask of a layer pass of the first workload, and who computes its tiles under each strategy with a plan of it.
struct MaskOfRun {
  struct Owners {
    std::string id, label;
    TileSummary tiles;
  };
  std::vector<MaskPlace> places;    // of all masks
  std::vector<MaskRecord> records;  // of each
  MaskPlace place;                  // of this one
  BlockMask mask;
  std::vector<Owners> owners;
};

// The mask of a layer and denoise step; without both, the first one. Throws Error: the file has no masks
// (kStoreCorrupt) or none there (kUsage).
MaskOfRun mask_of_run(const StoreReader& reader, std::optional<int> layer, std::optional<int> denoise_step);

std::string masks_text(const MaskOfRun& masks);   // the list of all masks
std::string owners_text(const MaskOfRun& masks);  // a line a strategy; "" without plans
// `info`: of the mask itself.
Json masks_json(const MaskOfRun& masks, Json info);

}  // namespace spscope
