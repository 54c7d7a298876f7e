#include "backend/execute/cuda/measure.h"

#include "backend/base/ids.h"
#include "backend/execute/cuda/rank_steps.h"

namespace spscope::cuda {

std::vector<std::vector<std::int64_t>> measure(const Plan& plan, const Request& request, const Activations& activations,
                                               const MeasureOptions& options) {
  require_fit(activations, request);
  const MemoryLayout layout(plan);
  DeviceSlots slots(plan, layout);
  Gpu& gpu = Gpu::of(0);
  std::vector<std::vector<std::int64_t>> result(at(options.repeats), std::vector<std::int64_t>(plan.ops.size(), 0));
  for (int rank = 0; rank < plan.ranks; ++rank) {
    RankSteps steps(plan, request, activations, layout, slots, gpu, rank);
    for (int pass = -options.warmup; pass < options.repeats; ++pass) {
      if (options.interrupt != nullptr && options.interrupt->load())
        throw Error(ErrorCode::kInterrupted, "the run was interrupted");
      // All is enqueued before the host waits. Ops that are shorter than their launch may still wait for the host.
      steps.enqueue();
      const std::vector<std::int64_t> ns = steps.wait();
      for (std::size_t i = 0; i < ns.size() && pass >= 0; ++i) result[at(pass)][at(steps.steps()[i].op)] = ns[i];
    }
    if (options.on_rank) options.on_rank(rank + 1, plan.ranks);
  }
  return result;
}

}  // namespace spscope::cuda
