// Requests for small whole layers of every block, and plans of them written by hand: tokens cut over ranks with the
// keys gathered, and, for the Wan block, weights cut over ranks.
#pragma once

#include <string>
#include <vector>

#include "backend/execute/reference/layer_reference.h"
#include "backend/execute/reference/reference.h"
#include "backend/plan/layer_kernels.h"
#include "backend/plan/terms.h"
#include "tests/unit/execute/execute_cases.h"

namespace spscope::testing {

struct LayerCase {
  LayerBlock block = LayerBlock::kWan;
  int ranks = 1;
  Dtype dtype = Dtype::kFp32;
  int batch = 1, mlps = 1;
  std::int32_t text = 5, context = 7;
  bool text_first = false;
  int heads = 4, head_dim = 14;
  std::int32_t ffn = 100;
};

inline const char* block_name(LayerBlock block) {
  constexpr const char* names[] = {"Attention", "Wan", "Joint", "DoubleStream", "SingleStream", "SpatialTemporal"};
  return names[static_cast<int>(block)];
}

// 3 x 5 x 7 video tokens in blocks of 16, the last one ragged, text in a block of its own that all meet, and a head dim
// that does not divide by 6.
Request layer_request(const LayerCase& c);

// The layer of the request with its tokens cut over ranks at borders of blocks and the keys gathered; or, of the Wan
// block, with `by_weights`, its heads and the inner channels of its feed-forward network cut over ranks that hold all
// tokens.
Plan hand_plan(const Request& request, bool by_weights = false);

}  // namespace spscope::testing
