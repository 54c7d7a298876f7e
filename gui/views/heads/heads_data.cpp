#include "gui/views/heads/heads_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>

#include "backend/analysis/mask_recipe.h"
#include "backend/base/listed.h"
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
  for (const DensityThumbnail& t : pictures.thumbnails)
    pictures.shade.push_back(std::accumulate(t.cells.begin(), t.cells.end(), 0.0));
  return pictures;
}

StepMask::StepMask(BlockMask of) : mask(std::move(of)) {
  const double pairs = static_cast<double>(mask.tokens()) * mask.tokens();
  for (int head = 0; head < mask.heads(); ++head) {
    density.push_back(static_cast<double>(mask.head_area(head)) / pairs);
    std::int64_t& active = tiles.emplace_back(0);
    for (std::int32_t q = 0; q < mask.coarse_blocks(); ++q)
      for (const std::uint64_t word : mask.row(head, q)) active += std::popcount(word);
  }
}

HeadRanks ranks_of_heads(const Plan& plan, AttendedAxis axis) {
  const std::array<std::int32_t, 2> whole = {0, axis == AttendedAxis::kInner ? plan.inner_tokens : plan.outer_tokens};
  const TileOwners owners(plan, axis, whole);
  HeadRanks ranks{plan.ranks, {}};
  for (int head = 0; head < plan.num_columns[static_cast<int>(Axis::kHeads)]; ++head)
    ranks.of_head.push_back(owners.ranks(head));
  return ranks;
}

std::string ranks_text(const HeadRanks& ranks, std::size_t head) {
  constexpr std::size_t kMost = 16;
  if (head >= ranks.of_head.size() || ranks.of_head[head].empty()) return "";
  const std::vector<int>& list = ranks.of_head[head];
  if (list.size() == 1) return fmt::format("rank {}", list.front());
  if (static_cast<int>(list.size()) == ranks.all) return fmt::format("all {} ranks", ranks.all);
  if (list.size() > kMost) return fmt::format("{} of {} ranks", list.size(), ranks.all);
  return fmt::format("ranks {}", listed(list));
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
