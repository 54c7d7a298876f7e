// Heads: what the mask of each head looks like, how dense it is, and which rank computes what of it under each
// strategy, in the layer that takes longest.
#include <fmt/format.h>

#include <algorithm>

#include "backend/report/section.h"

namespace spscope {

void fill_heads(const SectionInput& input, Section& section) {
  if (!input.picture) return;
  HeadGrid grid;
  grid.owners = input.picture->owner_maps;
  std::vector<std::size_t> order;  // of owner_strategies, as in the other sections
  for (const ModeGroup& group : by_mode(input.comparison))
    for (const StrategyResult* s : group.strategies) {
      const std::vector<std::string>& ids = input.picture->owner_strategies;
      const auto found = std::ranges::find(ids, s->id);
      if (found == ids.end()) continue;
      order.push_back(static_cast<std::size_t>(found - ids.begin()));
      grid.owned_by.push_back(s->label);
    }
  grid.caption =
      fmt::format("Layer {}: queries down, keys across; below each picture the head and how much of its mask is active",
                  input.picture->layer);
  for (const HeadsOfStep& step : input.picture->steps) {
    if (step.heads.empty()) continue;
    HeadGrid::Step shown{
        fmt::format("denoise step {}", step.denoise_step), step.denoise_step == input.picture->denoise_step, {}};
    for (const HeadPicture& head : step.heads) {
      shown.heads.push_back({head.thumbnail.cells, head.density, {}});
      for (const std::size_t i : order)
        shown.heads.back().owners.push_back(i < head.owners.size() ? head.owners[i] : -1);
    }
    grid.steps.push_back(std::move(shown));
  }
  if (!grid.steps.empty()) section.blocks.push_back(std::move(grid));
}

}  // namespace spscope
