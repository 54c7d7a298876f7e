// Heads: what the mask of each head looks like, and how dense it is, in the layer that takes longest.
#include <fmt/format.h>

#include "backend/report/section.h"

namespace spscope {

void fill_heads(const SectionInput& input, Section& section) {
  if (!input.picture) return;
  HeadGrid grid;
  grid.caption =
      fmt::format("Layer {}: queries down, keys across; below each picture the head and how much of its mask is active",
                  input.picture->layer);
  for (const HeadsOfStep& step : input.picture->steps) {
    if (step.heads.empty()) continue;
    HeadGrid::Step shown{
        fmt::format("denoise step {}", step.denoise_step), step.denoise_step == input.picture->denoise_step, {}};
    for (const HeadPicture& head : step.heads) shown.heads.push_back({head.thumbnail.cells, head.density});
    grid.steps.push_back(std::move(shown));
  }
  if (!grid.steps.empty()) section.blocks.push_back(std::move(grid));
}

}  // namespace spscope
