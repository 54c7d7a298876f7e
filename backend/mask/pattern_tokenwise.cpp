// Pattern `tokenwise`: a stress mask of db-SP's ablation (test/ablation_study.py of thu-nics/db-SP f13ced5, 2025-12).
// All rows and heads are alike; of each eighth of the key columns the first 93, 93, 93, 93, 93, 93, 34 and 0 of 148 are
// dense. All ranks of a ring have equal total work, yet in each ring step one has more: barrier ratio 1.257. Eighths of
// other lengths keep these proportions. The requested density is ignored; it is 0.5.
#include <array>

#include "backend/mask/pattern_parts.h"

namespace spscope {

std::vector<Parameter> parameters_tokenwise() { return {}; }

std::vector<Problem> check_tokenwise(const PatternRequest& request) { return check_request(request); }

BlockMask generate_tokenwise(const PatternRequest& request) {
  static constexpr std::array<std::int32_t, 8> dense = {93, 93, 93, 93, 93, 93, 34, 0};
  constexpr std::int64_t kEighth = 148;
  BlockMask mask(request.heads, block_starts(request));
  const std::int64_t blocks = num_video_blocks(request);
  for (int head = 0; head < mask.heads(); ++head) {
    for (std::int32_t q = 0; q < blocks; ++q) {
      for (std::int64_t part = 0; part < 8; ++part) {
        const std::int64_t begin = (blocks * part + 7) / 8, length = (blocks * (part + 1) + 7) / 8 - begin;
        const std::int64_t columns = (length * dense[part] + kEighth - 1) / kEighth;
        set_blocks(mask.mutable_row(head, q), static_cast<std::int32_t>(begin),
                   static_cast<std::int32_t>(begin + columns));
      }
    }
  }
  fill_text(mask, request);
  return mask;
}

}  // namespace spscope
