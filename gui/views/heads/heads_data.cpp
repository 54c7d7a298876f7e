#include "gui/views/heads/heads_data.h"

#include <algorithm>
#include <numeric>

#include "backend/analysis/mask_recipe.h"
#include "backend/store/mask_codec.h"

namespace spscope::gui {

std::optional<HeadPictures> load_pictures(const StoreReader& reader, WorkloadId workload, int layer, int step,
                                          AttendedAxis axis, bool make_lost) {
  const std::vector<MaskPlace> places = reader.mask_places(workload);
  const bool both = std::ranges::any_of(places, [](const MaskPlace& p) { return p.axis == AttendedAxis::kOuter; });
  const auto place = std::ranges::find_if(
      places, [&](const MaskPlace& p) { return p.layer == layer && p.denoise_step == step && p.axis == axis; });
  if (place == places.end()) return std::nullopt;
  HeadPictures pictures;
  pictures.both_axes = both;
  pictures.record = reader.mask_record(place->mask_id);
  pictures.thumbnails = reader.thumbnails(place->mask_id);
  if (pictures.thumbnails.empty() && make_lost)
    if (const auto mask = stored_mask(reader, workload, layer, step, axis))
      pictures.thumbnails = make_thumbnails(*mask);
  for (const DensityThumbnail& t : pictures.thumbnails) {
    const double sum = std::accumulate(t.cells.begin(), t.cells.end(), 0.0);
    pictures.density.push_back(t.cells.empty() ? 0 : sum / 255 / static_cast<double>(t.cells.size()));
  }
  return pictures;
}

std::vector<std::int64_t> tiles_by_head(const BlockMask& mask) {
  std::vector<std::int64_t> tiles;
  for (int head = 0; head < mask.heads(); ++head) {
    const HeadLoads loads = head_loads(mask, head);
    tiles.push_back(std::accumulate(loads.rows.begin(), loads.rows.end(), std::int64_t{0}));
  }
  return tiles;
}

OwnedHead own_head(std::shared_ptr<const Plan> plan, AttendedAxis axis, const BlockMask& mask, int head) {
  OwnedHead owned;
  owned.tiles = std::make_shared<const TileOwners>(*plan, axis, mask.coarse_starts());
  owned.owners = owned.tiles->of_head(head);
  owned.by_rank = owned.tiles->tiles_by_rank(mask, head);
  owned.plan = std::move(plan);
  return owned;
}

}  // namespace spscope::gui
