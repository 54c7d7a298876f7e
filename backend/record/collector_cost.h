// What a collector (collectors/collector.h) took for itself since it was started.
#pragma once

#include <cstdint>

namespace spscope {

struct CollectorCost {
  std::int64_t thread_ns = 0;    // CPU time of its own threads
  std::int64_t callback_ns = 0;  // time of the program's threads in its callbacks, where it is measured
  // Its own memory, the most of each part: buffers for its source, events that it holds back, what it remembers, and
  // its rings in the sink; not what its source or the sink take for themselves.
  std::int64_t memory_bytes = 0;
  std::int64_t records = 0, dropped = 0;                  // records that it handed over, and that it or its source lost
  CollectorCost& operator+=(const CollectorCost& other);  // of another process
  friend bool operator==(const CollectorCost&, const CollectorCost&) = default;
};

}  // namespace spscope
