// Mask patterns: seeded generators of realistic block masks, one file each (pattern_<name>.cpp), listed in
// patterns.def. A pattern evolves over (denoise step, layer). Equal requests give equal bits; on another C library or
// processor, scores from rng.h may differ in the last bit, and with them a block at the edge of a selection.
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

// The input of a pattern. Tokens are video tokens in (frame, y, x) order, then `text_tokens` text tokens.
struct PatternRequest {
  int heads = 1;
  std::array<int, 3> grid = {1, 1, 1};  // frames, height, width in tokens
  int text_tokens = 0;                  // appended after the video tokens; rows and columns of text are dense
  int block = 64;                       // tokens a block; text starts a new block
  double density = 0.4;                 // target active share, text included; the mask never has less than its text
                                        // and one block a row. Ignored unless Pattern::follows_density
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
  bool evolves;  // whether the mask differs from one denoise step to the next
  // Whether the mask has the requested density, as near as its rule allows; otherwise it has a density of its own.
  bool follows_density;
};

std::span<const Pattern> patterns();
// nullptr when the name is not known.
const Pattern* find_pattern(std::string_view name);
// Block borders of a request: video blocks, the last ragged, then text blocks. Patterns that order tokens by tiles
// (sta, vsa) have borders of their own.
std::vector<std::int32_t> block_starts(const PatternRequest& request);

}  // namespace spscope
