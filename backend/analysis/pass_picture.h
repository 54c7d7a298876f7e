// The picture of one layer pass for people: what each rank did when under each strategy, and the masks of its heads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/analysis/owner_map.h"
#include "backend/analysis/strategy_result.h"
#include "backend/analysis/time_terms.h"
#include "backend/plan/timeline.h"
#include "backend/store/store_reader.h"

namespace spscope {

// [begin_ns, end_ns) of one rank.
struct ActivitySpan {
  std::int64_t begin_ns = 0, end_ns = 0;
  TimeColumn column = TimeColumn::kOther;
  friend bool operator==(const ActivitySpan&, const ActivitySpan&) = default;
};

// What each rank did, by rank, from the first post of any: spans in order of time that cover [0,
// timeline.makespan_ns()) without overlap or gap; neighbours differ. Their lengths by column add up to those of
// rank_times(). REQUIRES: a timeline of this plan.
std::vector<std::vector<ActivitySpan>> activities(const Plan& plan, const Timeline& timeline);

// At most `most` spans: of that many equal buckets of time, each is what took most of it.
std::vector<ActivitySpan> coarser(const std::vector<ActivitySpan>& spans, std::int64_t most);

struct StrategyBand {
  std::string strategy;  // StrategyResult::id
  std::int64_t makespan_ns = 0;
  std::vector<int> ranks;  // those that are shown, ascending
  // One list for each of them, from where the makespan begins: below 0 is beside the end of the layer pass before.
  std::vector<std::vector<ActivitySpan>> spans;
};

struct HeadPicture {
  DensityThumbnail thumbnail;
  double density = 0;  // of the thumbnail: active over all
  // Who computes it under each of PassPicture::owner_strategies: an index into owner_maps; -1: not known.
  std::vector<std::int32_t> owners = {};
};
struct HeadsOfStep {
  int denoise_step = 0;
  std::vector<HeadPicture> heads;
};

struct PassPicture {
  int layer = 0, denoise_step = 0;
  std::vector<StrategyBand> bands;  // in stored order; only strategies whose timeline the file holds
  std::vector<HeadsOfStep> steps;   // of the layer, at the denoise steps that ran; the attended axis of tokens inside
  std::vector<std::string> owner_strategies;  // StrategyResult::id, in stored order; at most 12
  std::vector<OwnerMap> owner_maps;           // none twice
};

// The layer pass that all strategies together take longest for, with the median repeat of each; absent when none has
// times. Of more than 64 ranks 64 are shown, the slowest one among them, and of many denoise steps at most 8, that of
// the pass among them. Owners are there for at most 64 ranks.
std::optional<PassPicture> slowest_pass_picture(const StoreReader& reader, const Comparison& comparison);

}  // namespace spscope
