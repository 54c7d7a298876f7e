#include "backend/record/collector_cost.h"

#include <fmt/format.h>

namespace spscope {

std::string cost_text(const CollectorCost& cost) {
  return fmt::format("{} records, {} lost; {:.0f} ms of its own threads, {:.1f} MiB", cost.records,
                     cost.dropped == 0 ? "none" : std::to_string(cost.dropped),
                     static_cast<double>(cost.thread_ns) * 1e-6, static_cast<double>(cost.memory_bytes) / (1 << 20));
}

}  // namespace spscope
