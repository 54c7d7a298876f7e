// db-SP's latency predictor (section 4.3 of the paper as quoted in db-sp.md 4.1), which chooses the degrees of a layer:
//
//   L = all_to_all + (max(step, hop) (R - 1) + step) ratio
//
// The released code has no predictor and the paper gives no constants; ours come from the cluster of the request. The
// formula knows neither the exchange of balanced blocks (added as an option) nor, in `step`, anything but a linear cost
// of blocks (ours is affine, by the cluster's profile). Its ratio also multiplies hops, as in the paper.
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

// The terms of one layer under a decision with explicit block lists. Communication takes as long as its busiest link
// needs for its bytes, plus the latency of its slowest message for each collective. With nothing known the mask counts
// as dense; with no cluster (Request::cluster) one pair of tokens costs 1 ns and communication nothing, so that the
// ratio alone decides.
LatencyTerms latency_terms(const Request& request, const Decision& decision);

}  // namespace spscope
