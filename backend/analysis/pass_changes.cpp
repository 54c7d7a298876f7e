#include "backend/analysis/pass_changes.h"

#include <map>
#include <utility>

namespace spscope {

std::vector<PassChange> pass_changes(const StrategyResult& from, const StrategyResult& to) {
  std::map<std::pair<int, int>, std::int64_t> of_to;
  for (const LayerResult& pass : to.by_layer)
    if (pass.makespan_ns) of_to[{pass.denoise_step, pass.layer}] = *pass.makespan_ns;
  std::vector<PassChange> changes;
  for (const LayerResult& pass : from.by_layer) {
    const auto found = of_to.find({pass.denoise_step, pass.layer});
    if (found == of_to.end() || !pass.makespan_ns) continue;
    PassChange change{
        pass.layer, pass.denoise_step, *pass.makespan_ns, found->second, found->second - *pass.makespan_ns, {}};
    if (change.from_ns > 0) change.ratio = static_cast<double>(change.to_ns) / static_cast<double>(change.from_ns);
    changes.push_back(change);
  }
  return changes;
}

}  // namespace spscope
