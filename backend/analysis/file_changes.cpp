// The first workload of the later file that equals one of the earlier is its counterpart.
#include "backend/analysis/file_changes.h"

#include <utility>

namespace spscope {

FileChanges file_changes(std::span<const Comparison> before, std::span<const Comparison> after, double limit) {
  FileChanges result;
  std::vector<Change> lost;
  bool any = false;
  for (const Comparison& b : before) {
    bool found = false;
    for (const Comparison& a : after) {
      if (!difference(b.workload, a.workload).empty()) continue;
      if (!any) result.settings = changed_settings(b.workload, a.workload);
      found = any = true;
      for (Change& change : changes(b, a, limit)) result.changes.push_back(std::move(change));
    }
    if (!found)
      for (Change& change : vanished(b)) lost.push_back(std::move(change));
  }
  if (any) {
    result.changes.insert(result.changes.end(), lost.begin(), lost.end());
  } else {
    result.settings = changed_settings(before.front().workload, after.front().workload);
    result.different =
        "the files hold different workloads: " + difference(before.front().workload, after.front().workload);
  }
  return result;
}

}  // namespace spscope
