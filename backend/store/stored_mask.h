// Masks in their tables: the bits of each, or the recipe that gives them again, and a picture of every head.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "backend/mask/block_mask.h"
#include "backend/store/records.h"
#include "backend/store/sqlite/sqlite.h"

namespace spscope {

// REQUIRES: not refined; the file holds no mask of this hash.
StoredMaskId store_mask(Database& db, const BlockMask& mask, std::string_view recipe);
// REQUIRES: the mask has no pictures in the file.
void store_thumbnails(Database& db, StoredMaskId id, const BlockMask& mask);

// The mask itself; absent when the file holds its recipe. Throws Error (kStoreCorrupt).
std::optional<BlockMask> load_mask(Database& db, StoredMaskId id);
// By head; none in a file that lost them. Throws Error (kStoreCorrupt) unless there are as many as heads, each whole.
std::vector<DensityThumbnail> load_thumbnails(Database& db, StoredMaskId id);

}  // namespace spscope
