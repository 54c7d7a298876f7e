// Masks of methods that select blocks in every call: each row keeps the smallest set of key blocks whose pooled softmax
// reaches a given weight (SpargeAttention, XAttention). Generated without queries and keys: pooled scores are locality
// (negative anisotropic distance of blocks, log-normal scales by head and axis) plus a strength of each key block, over
// a temperature by head that evolves over denoise steps and gives heads of very different density.
//
// One factor on all temperatures is found by bisection on sampled rows so that the mean density is the requested one,
// within 0.02 from 100 blocks on. The density is never below that of one block a row.
#pragma once

#include "backend/mask/pattern.h"

namespace spscope {

struct SoftmaxRows {
  double cdf = 0.9;            // softmax weight that the kept blocks of a row reach
  int rows_together = 1;       // neighbouring query blocks with equal rows
  double head_spread = 0.7;    // sigma of the log-temperature over heads
  double row_spread = 0;       // sigma of the log-temperature over rows of a head
  double drift = 0;            // share of the variance of the log-temperature that evolves over denoise steps
  double most_dissimilar = 0;  // largest share of fully dense rows and columns of a head, in runs
};

// Problems of the request; all shapes of heads are held at once.
std::vector<Problem> check_softmax_rows(const PatternRequest& request);
// REQUIRES: check_softmax_rows(request) is empty, cdf in (0, 1], rows_together >= 1, most_dissimilar < 1.
BlockMask generate_softmax_rows(const PatternRequest& request, const SoftmaxRows& settings);

}  // namespace spscope
