// A ring of two ranks small enough to work out by hand. docs/metrics.md uses the same numbers.
//
// One head, four blocks of one token. Rank 0 holds rows and keys 0 and 1, rank 1 holds 2 and 3. Active pairs:
//
//           keys 0 1   keys 2 3
//   row 0        x x        x .         rank 0: 4 with its own keys, then 1 with those of rank 1
//   row 1        x x        . .
//   row 2        x .        x .         rank 1: 1 with its own keys, then 2 with those of rank 0
//   row 3        x .        . .
//
// Times in ns. `post`, `begin`, `end` of the exchange of keys; compute begins when it is posted:
//
//            exchange       attend 0   attend 1   finish
//   rank 0   0, 10, 50      0-6        50-80      80-90
//   rank 1   10, 10, 50     10-30      50-110     110-120
#pragma once

#include "backend/plan/plan_builder.h"
#include "backend/plan/timeline.h"
#include "backend/strategies/strategy.h"

namespace spscope::testing {

inline Request two_rank_request() {
  BlockMask mask(1, BlockMask::uniform_starts(4, 1));
  constexpr int kActive[][2] = {{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {2, 0}, {2, 2}, {3, 0}};
  for (const auto& [q, k] : kActive) mask.set(0, q, k);
  return Request::attention(2, 1, 2, std::move(mask));
}

inline Plan two_rank_ring(const Request& request) {
  const Strategy& ring = *find_strategy("ring");
  return make_plan(ring, request, Parameters(ring.parameters()));
}

// Every time of rank 1 after its first attend is `later` ns later than in the table.
inline Timeline two_rank_times(const Plan& plan, std::int64_t later = 0) {
  Timeline timeline;
  for (const Op& op : plan.ops) {
    const Post& post = plan.post_of(op);
    const bool first = op.rank == 0;
    const std::int64_t shift = first ? 0 : later;
    OpTimes t;
    switch (post.kind) {
      case PostKind::kExchange:
        t = {first ? 0 : 10, 10, 50};
        break;
      case PostKind::kAttend:
        if (post.ring_step == 0)
          t = first ? OpTimes{0, 0, 6} : OpTimes{10, 10, 30};
        else
          t = first ? OpTimes{50, 50, 80} : OpTimes{50, 50, 110 + shift};
        break;
      default:
        t = first ? OpTimes{80, 80, 90} : OpTimes{110 + shift, 110 + shift, 120 + shift};
    }
    timeline.ops.push_back(t);
  }
  return timeline;
}

}  // namespace spscope::testing
