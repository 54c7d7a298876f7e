// Timeline: what each rank did under each strategy, in the layer pass that takes longest.
#include <fmt/format.h>

#include "backend/report/section.h"

namespace spscope {

void fill_timeline(const SectionInput& input, Section& section) {
  if (!input.picture || input.picture->bands.empty()) return;
  const PassPicture& picture = *input.picture;
  for (const ModeGroup& group : by_mode(input.comparison)) {
    TimelineBands bands;
    bands.caption = fmt::format(
        "Layer {}, denoise step {}: the layer pass that takes longest, all strategies together; of each its median "
        "repeat",
        picture.layer, picture.denoise_step);
    for (const StrategyResult* s : group.strategies) {
      const auto drawn = std::ranges::find(picture.bands, s->id, &StrategyBand::strategy);
      if (drawn == picture.bands.end()) continue;
      if (bands.parts.empty()) bands.parts = time_parts(*s);
      TimelineBands::Band band{s->label, static_cast<double>(drawn->makespan_ns), {}, {.strategy = s->id}};
      for (std::size_t i = 0; i < drawn->ranks.size(); ++i) {
        TimelineBands::Row row{
            fmt::format("rank {}", drawn->ranks[i]), {}, {.strategy = s->id, .rank = drawn->ranks[i]}};
        for (const ActivitySpan& span : drawn->spans[i])
          row.spans.push_back({static_cast<double>(span.begin_ns), static_cast<double>(span.end_ns),
                               static_cast<std::size_t>(span.column)});
        band.rows.push_back(std::move(row));
      }
      bands.bands.push_back(std::move(band));
    }
    if (bands.bands.empty()) continue;
    const auto ranks = static_cast<std::size_t>(input.comparison.workload.ranks);
    if (bands.bands.front().rows.size() < ranks)
      section.blocks.push_back(Paragraph{
          fmt::format("{} of {} ranks are shown, the slowest among them.", bands.bands.front().rows.size(), ranks),
          Tone::kNote});
    section.blocks.push_back(std::move(bands));
  }
}

}  // namespace spscope
