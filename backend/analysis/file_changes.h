// What changed from one stored run to another: their workloads matched, the strategies of each before and after.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "backend/analysis/changed_settings.h"
#include "backend/analysis/regression.h"

namespace spscope {

struct FileChanges {
  // Of every workload of the first file against the same one of the last. The strategies of a workload that the last
  // file does not have have vanished, unless no workload is in both.
  std::vector<Change> changes;
  std::vector<ChangedSetting> settings;  // of the first workload that both have; of the first ones when none is
  std::string different;                 // why no workload is in both files; "" when one is
};
// `limit`: as in changes(). REQUIRES: neither list is empty.
FileChanges file_changes(std::span<const Comparison> before, std::span<const Comparison> after, double limit);

}  // namespace spscope
