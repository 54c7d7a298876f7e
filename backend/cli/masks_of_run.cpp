#include "backend/cli/masks_of_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "backend/analysis/mask_recipe.h"
#include "backend/analysis/observation.h"
#include "backend/base/number_text.h"
#include "backend/base/printable.h"

namespace spscope {
namespace {

const char* axis_name(AttendedAxis axis) { return axis == AttendedAxis::kInner ? "inner" : "outer"; }

const MaskPlace* chosen(const std::vector<MaskPlace>& places, std::optional<int> layer, std::optional<int> step) {
  for (const MaskPlace& place : places)
    if ((!layer || place.layer == *layer) && (!step || place.denoise_step == *step)) return &place;
  return nullptr;
}

void add_owners(const StoreReader& reader, WorkloadId workload, MaskOfRun& masks) {
  for (const StrategyRecord& strategy : reader.strategies()) {
    if (strategy.workload_id != workload) continue;
    const std::vector<RunRecord> runs = reader.runs(strategy.strategy_id);
    const auto run = std::ranges::find_if(runs, [&](const RunRecord& r) {
      return r.plan_id && r.layer == masks.place.layer && r.denoise_step == masks.place.denoise_step;
    });
    if (run == runs.end()) continue;
    const TileOwners owners(reader.plan(*run->plan_id), masks.place.axis, masks.mask.coarse_starts());
    masks.owners.push_back({strategy.id, strategy.label, tile_summary(owners, masks.mask)});
  }
}

}  // namespace

MaskOfRun mask_of_run(const StoreReader& reader, std::optional<int> layer, std::optional<int> denoise_step) {
  MaskOfRun masks;
  for (const WorkloadRecord& workload : reader.workloads()) {
    masks.places = reader.mask_places(workload.workload_id);
    if (masks.places.empty()) continue;
    for (const MaskPlace& place : masks.places) masks.records.push_back(reader.mask_record(place.mask_id));
    const MaskPlace* place = chosen(masks.places, layer, denoise_step);
    if (place == nullptr)
      throw Error(ErrorCode::kUsage,
                  fmt::format("\"{}\" has no mask{}{}", reader.path(), layer ? fmt::format(" of layer {}", *layer) : "",
                              denoise_step ? fmt::format(" of denoise step {}", *denoise_step) : ""),
                  fmt::format("it has that of layer {}, denoise step {}", masks.places.front().layer,
                              masks.places.front().denoise_step));
    masks.place = *place;
    masks.mask = *stored_mask(reader, workload.workload_id, place->layer, place->denoise_step, place->axis);
    add_owners(reader, workload.workload_id, masks);
    return masks;
  }
  require_strategies(reader, "show masks of");
  throw Error(ErrorCode::kStoreCorrupt, fmt::format("\"{}\" holds no masks", reader.path()),
              "spscope doctor lists what is missing");
}

std::string masks_text(const MaskOfRun& masks) {
  constexpr std::size_t kMostLines = 24;
  std::string text;
  for (std::size_t i = 0; i < std::min(kMostLines, masks.places.size()); ++i) {
    const MaskPlace& place = masks.places[i];
    const MaskRecord& record = masks.records[i];
    text += fmt::format(
        "{} layer {:>3}  denoise step {:>3}  {} axis  {} heads, {} tokens, {} blocks, density {:.3f}  {}\n",
        place == masks.place ? "*" : " ", place.layer, place.denoise_step, axis_name(place.axis), record.heads,
        count_text(static_cast<double>(record.tokens)), count_text(static_cast<double>(record.blocks)), record.density,
        record.recipe.empty() ? "bits" : "recipe");
  }
  if (masks.places.size() > kMostLines) text += fmt::format("  and {} more\n", masks.places.size() - kMostLines);
  return text;
}

std::string owners_text(const MaskOfRun& masks) {
  if (masks.owners.empty()) return "";
  std::string text = fmt::format("tiles by rank {:>16} {:>10} {:>10} {:>10} {:>10} {:>10}\n", "most over mean", "rank",
                                 "active", "shared", "redundant", "moved");
  for (const MaskOfRun::Owners& o : masks.owners) {
    const std::vector<double>& by_rank = o.tiles.tiles_by_rank;
    const double sum = std::accumulate(by_rank.begin(), by_rank.end(), 0.0);
    const auto most = std::ranges::max_element(by_rank);
    const std::string ratio =
        sum > 0 ? fmt::format("{:.3f}", *most * static_cast<double>(by_rank.size()) / sum) : std::string("-");
    text += fmt::format("{:<20} {:>9} {:>10} {:>10} {:>10} {:>10} {:>10}\n", printable_line(o.label), ratio,
                        most - by_rank.begin(), o.tiles.active, o.tiles.shared, o.tiles.redundant, o.tiles.moved);
  }
  return text;
}

Json masks_json(const MaskOfRun& masks, Json info) {
  Json list = Json::array(), owners = Json::array();
  for (std::size_t i = 0; i < masks.places.size(); ++i) {
    const MaskRecord& record = masks.records[i];
    list.push_back({{"layer", masks.places[i].layer},
                    {"denoise_step", masks.places[i].denoise_step},
                    {"axis", axis_name(masks.places[i].axis)},
                    {"heads", record.heads},
                    {"tokens", record.tokens},
                    {"blocks", record.blocks},
                    {"density", record.density},
                    {"kept_as", record.recipe.empty() ? "bits" : "recipe"},
                    {"hash", fmt::format("{:016x}", record.hash)}});
  }
  for (const MaskOfRun::Owners& o : masks.owners)
    owners.push_back({{"id", o.id},
                      {"label", o.label},
                      {"tiles_by_rank", o.tiles.tiles_by_rank},
                      {"active", o.tiles.active},
                      {"shared", o.tiles.shared},
                      {"redundant", o.tiles.redundant},
                      {"moved", o.tiles.moved}});
  info["layer"] = masks.place.layer;
  info["denoise_step"] = masks.place.denoise_step;
  info["axis"] = axis_name(masks.place.axis);
  info["masks"] = std::move(list);
  info["owners"] = std::move(owners);
  return info;
}

}  // namespace spscope
