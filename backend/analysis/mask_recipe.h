// Recipes of masks: what a stored run keeps in place of the bits of a mask that a pattern made. A recipe is TOML, a
// table [mask] with every field of the pattern's request, and a table [mask.PATTERN] with its parameters. It needs
// nothing else: neither the run's config nor its model.
#pragma once

#include <optional>
#include <string>

#include "backend/mask/block_mask.h"
#include "backend/mask/pattern.h"
#include "backend/store/records.h"
#include "backend/store/store_reader.h"

namespace spscope {

// The recipe of `pattern.generate(request)`.
std::string recipe_of(const Pattern& pattern, const PatternRequest& request);

// Makes the mask again, not refined. Throws Error (kStoreCorrupt) when the recipe is not one that recipe_of writes,
// asks for more than a pattern makes, or gives a mask of another hash than the record's. REQUIRES: the record has a
// recipe.
BlockMask mask_of_recipe(const MaskRecord& record);

// The mask of a layer pass, from its bits or its recipe; absent when the file has none there. Throws Error
// (kStoreCorrupt).
std::optional<BlockMask> stored_mask(const StoreReader& reader, WorkloadId workload, int layer, int denoise_step,
                                     AttendedAxis axis);

}  // namespace spscope
