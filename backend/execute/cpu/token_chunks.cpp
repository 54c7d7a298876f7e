#include "backend/execute/cpu/token_chunks.h"

#include <algorithm>

namespace spscope {

std::vector<Box> token_chunks(SetTable& sets, const Box& box, std::int64_t limit) {
  std::vector<Box> chunks;
  const std::int64_t inner = sets.size(box.inner), outer = sets.size(box.outer);
  const std::int64_t inner_step = std::min(inner, limit), outer_step = std::max<std::int64_t>(1, limit / inner_step);
  for (std::int64_t o = 0; o < outer; o += outer_step)
    for (std::int64_t i = 0; i < inner; i += inner_step)
      chunks.push_back({box.columns, sets.slice(box.outer, o, std::min(outer, o + outer_step)),
                        sets.slice(box.inner, i, std::min(inner, i + inner_step))});
  return chunks;
}

}  // namespace spscope
