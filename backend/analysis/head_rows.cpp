#include "backend/analysis/head_rows.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "backend/analysis/owner_map.h"

namespace spscope {
namespace {

std::optional<int> only_rank(const OwnerMap& map) {
  const bool alone = !map.empty() && map.front() >= 0 && std::ranges::all_of(map, [&](auto r) { return r == map[0]; });
  return alone ? std::optional(map.front()) : std::nullopt;
}

}  // namespace

double density_of(const DensityThumbnail& thumbnail) {
  const double sum = std::accumulate(thumbnail.cells.begin(), thumbnail.cells.end(), 0.0);
  return sum / 255 / static_cast<double>(std::max<std::size_t>(1, thumbnail.cells.size()));
}

std::vector<HeadRow> head_rows(const StoreReader& reader, const Comparison& comparison) {
  std::vector<HeadRow> rows;
  const std::vector<MaskPlace> places = reader.mask_places(comparison.workload.workload_id);
  std::map<StoredMaskId, std::vector<double>> densities;  // by head
  for (const MaskPlace& place : places)
    if (const auto [found, is_new] = densities.try_emplace(place.mask_id); is_new)
      for (const DensityThumbnail& thumbnail : reader.thumbnails(place.mask_id))
        found->second.push_back(density_of(thumbnail));
  std::map<std::pair<PlanId, AttendedAxis>, std::vector<std::optional<int>>>
      ranks;  // by head; a plan serves many passes
  for (const StrategyResult& s : comparison.strategies) {
    if (!s.legal()) continue;
    const std::vector<RunRecord> runs = reader.runs(s.strategy_id);
    for (const MaskPlace& place : places) {
      const std::vector<double>& of_head = densities.at(place.mask_id);
      const auto run = std::ranges::find_if(runs, [&](const RunRecord& r) {
        return r.layer == place.layer && r.denoise_step == place.denoise_step && r.plan_id;
      });
      const std::vector<std::optional<int>>* of_plan = nullptr;
      if (run != runs.end()) {
        const auto [found, is_new] = ranks.try_emplace({*run->plan_id, place.axis});
        if (is_new)
          for (const OwnerMap& map :
               owner_maps(reader.plan(*run->plan_id), place.axis, static_cast<int>(of_head.size())))
            found->second.push_back(only_rank(map));
        of_plan = &found->second;
      }
      for (std::size_t h = 0; h < of_head.size(); ++h)
        rows.push_back({s.id, place.denoise_step, place.layer, place.axis, static_cast<int>(h), of_head[h],
                        of_plan && h < of_plan->size() ? (*of_plan)[h] : std::nullopt});
    }
  }
  return rows;
}

}  // namespace spscope
