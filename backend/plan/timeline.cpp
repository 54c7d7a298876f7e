#include "backend/plan/timeline.h"

#include <algorithm>

namespace spscope {

std::int64_t Timeline::makespan_ns() const {
  if (ops.empty()) return 0;
  std::int64_t first = ops.front().post_ns, last = ops.front().end_ns;
  for (const OpTimes& t : ops) first = std::min(first, t.post_ns), last = std::max(last, t.end_ns);
  return last - first;
}

}  // namespace spscope
