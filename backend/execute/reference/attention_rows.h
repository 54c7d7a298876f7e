// Rows of attention in double precision: of one head of one sequence, over all of its keys or over a part of them. The
// reference of a run is made of these, and so are the faults of known_faults.h.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "backend/mask/block_mask.h"
#include "kernels/reference.h"

namespace spscope {

// Token t has head_dim numbers from `q + t * q_stride` on; k and v likewise.
struct HeadRows {
  const float *q = nullptr, *k = nullptr, *v = nullptr;
  std::int64_t q_stride = 0, k_stride = 0, v_stride = 0;  // in elements
  int head_dim = 0;
  int head = 0;                     // of the mask
  const BlockMask* mask = nullptr;  // not owned
};

// Which keys a row attends to, and how its scores are scaled.
struct KeyChoice {
  enum class Mask { kAsGiven, kAll, kTransposed };
  std::int32_t begin = 0, end = std::numeric_limits<std::int32_t>::max();  // tokens of the keys
  Mask mask = Mask::kAsGiven;
  bool causal = false;  // no key after the row's own token
  double scale = 0;     // 0: 1 / sqrt(head_dim)
};

// Rows of these query tokens, one after the other.
kernels::ReferenceRows attention_rows(const HeadRows& of, std::span<const std::int32_t> tokens,
                                      const KeyChoice& keys = {});

}  // namespace spscope
