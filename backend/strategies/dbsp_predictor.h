// db-SP's latency predictor (arXiv 2511.23113), which chooses the degrees of a layer:
//
//   L = all_to_all + (max(step, hop) (R - 1) + step) ratio
//
// thu-nics/db-SP f13ced5 (2025-12) has no predictor and we found no constants for it; ours come from the cluster of the
// request. Two differences: the formula omits the exchange of balanced blocks (an option here), and its `step` is
// linear in blocks (here affine, by the cluster's profile). As in the formula, the ratio also multiplies hops.
#pragma once

#include "backend/strategies/strategy.h"

namespace spscope {

struct LatencyTerms {
  int ring = 1;
  double step_ns = 0;        // attention of one ring step with the work divided evenly
  double hop_ns = 0;         // k and v of one rank to the next
  double all_to_all_ns = 0;  // q, k, v to heads and o back
  double exchange_ns = 0;    // q, k, v to the ranks of their blocks and o back
  double ratio = 1;          // barrier ratio of the decision on the known mask
};
double predicted_latency_ns(const LatencyTerms& terms, bool with_exchange);

// The terms of one layer under a decision with explicit block lists. A communication takes the bytes of its busiest
// link over that link's rate, plus the latency of its slowest message for each collective. Without a known mask,
// attention counts as dense; without a cluster (Request::cluster) one pair of tokens costs 1 ns and communication
// nothing, so that only the ratio decides.
LatencyTerms latency_terms(const Request& request, const Decision& decision);

}  // namespace spscope
