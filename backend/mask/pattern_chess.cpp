// Pattern `chess`: a stress mask of db-SP's ablation (test/ablation_study.py of thu-nics/db-SP f13ced5, 2025-12). The
// mask is cut into `parts` x `parts` tiles, one a rank and ring step, and tile (a, b) is dense when a + b is odd: all
// ratios are 1, but on every rank every second ring step is empty. The requested density is ignored; it is 0.5. A video
// of one block has no key.
#include "backend/mask/pattern_parts.h"

namespace spscope {

std::vector<Parameter> parameters_chess() {
  return {Parameter::integer("parts", 8, 2, 4096, "", "tiles along queries and keys; the ring degree shows them best")};
}

std::vector<Problem> check_chess(const PatternRequest& request) { return check_request(request); }

BlockMask generate_chess(const PatternRequest& request) {
  BlockMask mask(request.heads, block_starts(request));
  const std::int64_t blocks = num_video_blocks(request);
  const std::int64_t parts = std::min<std::int64_t>(request.parameters.integer("parts"), blocks);
  for (std::int64_t b = 0; b < parts; ++b) {
    const std::int64_t begin = b * blocks / parts, end = (b + 1) * blocks / parts;
    for (std::int64_t a = (b + 1) % 2; a < parts; a += 2) {
      for (std::int64_t q = a * blocks / parts; q < (a + 1) * blocks / parts; ++q) {
        for (int head = 0; head < mask.heads(); ++head) {
          set_blocks(mask.mutable_row(head, static_cast<std::int32_t>(q)), static_cast<std::int32_t>(begin),
                     static_cast<std::int32_t>(end));
        }
      }
    }
  }
  fill_text(mask, request);
  return mask;
}

}  // namespace spscope
