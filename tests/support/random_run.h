// Small runs from a seed, for comparing with brute force: an attention under some strategy, scheduled with random times
// of compute on a random network.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/plan/timeline.h"
#include "backend/schedule/network.h"
#include "backend/strategies/strategy.h"

namespace spscope::testing {

struct RandomRun {
  std::string strategy;
  Request request;
  Plan plan;
  Network network;
  std::vector<std::int64_t> compute_ns;  // by op
  Timeline timeline;
};

// 1 to 4 ranks and heads, up to 24 tokens in up to 8 blocks of which the last may be shorter, any density, every
// strategy that is legal for it. The same seed gives the same request for every `choice`, which counts through
// strategies.
RandomRun random_run(std::uint64_t seed, int choice = 0);

}  // namespace spscope::testing
