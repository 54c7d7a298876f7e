// Mask patterns: seeded generators of realistic block masks, one file each (pattern_<name>.cpp), listed in
// patterns.def. A pattern evolves over (denoise step, layer); the same request always gives the same bits.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/base/error.h"
#include "backend/base/parameter.h"
#include "backend/mask/block_mask.h"

namespace spscope {

// What a pattern is asked for. Tokens are video tokens in (frame, y, x) order, then `text_tokens` text tokens.
struct PatternRequest {
  int heads = 1;
  std::array<int, 3> grid = {1, 1, 1};  // frames, height, width in tokens
  int text_tokens = 0;                  // appended after the video tokens; rows and columns of text are dense
  int block = 64;                       // tokens a block; text starts a new block
  double density = 0.4;                 // wanted active share, text included; never below text and one block a row;
                                        // a pattern that does not follow it has a density of its own
  std::uint64_t seed = 1;
  int denoise_step = 0, layer = 0, denoise_steps = 50, layers = 1;
  Parameters parameters;  // of this pattern, defaults filled in
  int tokens() const { return grid[0] * grid[1] * grid[2] + text_tokens; }
};

struct Pattern {
  std::string_view name, summary;
  std::vector<Parameter> (*parameters)();
  // Problems of this request, empty when it can be generated.
  std::vector<Problem> (*check)(const PatternRequest&);
  BlockMask (*generate)(const PatternRequest&);
  bool evolves;          // whether the mask differs from one denoise step to the next
  bool follows_density;  // whether the mask is made for the wanted density, as near as the rule allows; else it ignores
                         // it
};

std::span<const Pattern> patterns();
// nullptr when the name is not known.
const Pattern* find_pattern(std::string_view name);
// Block borders of a request: video blocks, the last ragged, then text blocks. Patterns that order tokens by tiles
// (sta, vsa) have borders of their own.
std::vector<std::int32_t> block_starts(const PatternRequest& request);

}  // namespace spscope
