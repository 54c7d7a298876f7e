// schedule(): the times of all ops of a plan, given the durations of its compute and a network.
//
// Nothing is chosen: lanes run in post order, so the result is a pure function of its arguments, the same on every
// machine. The same engine serves `simulate` (modelled compute), `project` (measured compute) and the coupled imbalance
// ratio.
//
// * A compute op starts when its dependencies and the op before it on its lane have ended. For every other op that is
//   its post.
// * A message of an exchange starts when both its ends have posted; the exchange begins when the last partner it has
//   messages with has, and ends when its messages have. A reduce or a barrier begins when its whole group has posted,
//   a pull or push when its starter has. A barrier of several ranks takes one latency.
// * A message takes the latency of its link class, then is a job on each link it uses (shared_link.h, network.h).
// * While an exchange or reduce with messages is between post and end on a rank, compute there takes
//   Network::compute_slowdown times as long, however many of them are active.
// Copies inside a rank that are part of a transfer take no time.
#pragma once

#include <cstdint>
#include <span>

#include "backend/plan/plan.h"
#include "backend/plan/timeline.h"
#include "backend/schedule/network.h"

namespace spscope {

// `compute_ns` is by OpId; its entries for communication are not read. Takes O(n log n) for n = ops + messages.
// REQUIRES: verify(plan) is empty, compute_ns.size() == plan.ops.size(), durations >= 0, network.ranks == plan.ranks.
Timeline schedule(const Plan& plan, std::span<const std::int64_t> compute_ns, const Network& network);

}  // namespace spscope
