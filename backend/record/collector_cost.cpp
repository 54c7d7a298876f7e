#include "backend/record/collector_cost.h"

#include <fmt/format.h>

namespace spscope {

CollectorCost& CollectorCost::operator+=(const CollectorCost& other) {
  thread_ns += other.thread_ns;
  callback_ns += other.callback_ns;
  memory_bytes += other.memory_bytes;
  records += other.records;
  dropped += other.dropped;
  return *this;
}

std::string cost_text(const CollectorCost& cost) {
  return fmt::format("{} records, {} lost; {:.0f} ms of its own threads, {:.1f} MiB", cost.records,
                     cost.dropped == 0 ? "none" : std::to_string(cost.dropped),
                     static_cast<double>(cost.thread_ns) * 1e-6, static_cast<double>(cost.memory_bytes) / (1 << 20));
}

}  // namespace spscope
