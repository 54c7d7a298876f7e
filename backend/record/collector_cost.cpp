#include "backend/record/collector_cost.h"

namespace spscope {

CollectorCost& CollectorCost::operator+=(const CollectorCost& other) {
  thread_ns += other.thread_ns;
  callback_ns += other.callback_ns;
  memory_bytes += other.memory_bytes;
  records += other.records;
  dropped += other.dropped;
  return *this;
}

}  // namespace spscope
