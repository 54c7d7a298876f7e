// The heads of all layer passes: how dense the mask of each is, and which rank computes it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backend/analysis/strategy_result.h"
#include "backend/store/store_reader.h"

namespace spscope {

// Active over all, of all cells: 0 to 1, to 0.002.
double density_of(const DensityThumbnail& thumbnail);

struct HeadRow {
  std::string strategy;  // StrategyResult::id
  int denoise_step = 0, layer = 0;
  AttendedAxis axis = AttendedAxis::kInner;
  int head = 0;
  double density = 0;       // density_of the thumbnail
  std::optional<int> rank;  // absent where several ranks share the head, or the file has no plan
};

// By strategy, denoise step, layer, axis and head; of strategies and masks that the file holds.
std::vector<HeadRow> head_rows(const StoreReader& reader, const Comparison& comparison);

}  // namespace spscope
