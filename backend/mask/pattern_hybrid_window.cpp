// Pattern `hybrid-window`: a stress mask of db-SP's ablation (test/ablation_study.py of thu-nics/db-SP f13ced5,
// 2025-12), uneven over heads and over blocks. Head h of 40 attends to the 20 h blocks before the query's own of 1,184;
// other numbers of heads and blocks keep these proportions. The requested density is ignored; it is 0.256. The queries
// of head 0 and of the first block have no keys, and their output is 0.
#include <algorithm>

#include "backend/mask/pattern_parts.h"

namespace spscope {

std::vector<Parameter> parameters_hybrid_window() { return {}; }

std::vector<Problem> check_hybrid_window(const PatternRequest& request) { return check_request(request); }

BlockMask generate_hybrid_window(const PatternRequest& request) {
  constexpr std::int64_t kHeads = 40, kBlocks = 1184, kBlocksAHead = 20;
  BlockMask mask(request.heads, block_starts(request));
  const std::int32_t blocks = num_video_blocks(request);
  for (std::int64_t head = 0; head < mask.heads(); ++head) {
    const std::int64_t of = kBlocks * mask.heads();
    const auto window = static_cast<std::int32_t>((kBlocksAHead * head * kHeads * blocks + of / 2) / of);
    for (std::int32_t q = 0; q < blocks; ++q) {
      set_blocks(mask.mutable_row(static_cast<int>(head), q), std::max(0, q - window), q);
    }
  }
  fill_text(mask, request);
  return mask;
}

}  // namespace spscope
