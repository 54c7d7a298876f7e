// schedule(): the times of all ops of a plan, given the durations of its compute and a network.
//
// Nothing is chosen: lanes run in post order, so the result is a pure function of its arguments, the same on every
// machine. The same engine serves `simulate` (modelled compute), `project` (measured compute) and the coupled imbalance
// ratio.
//
// * A compute op starts when its dependencies and the op before it on its lane have ended. For every other op that is
//   its post. A dependency on an op of another rank is a signal, which takes one latency. With issue times no op posts
//   before its own: the host launches ops one after the other (cost.h).
// * A message of an exchange starts when both its ends have posted and packed; the exchange begins when the last
//   partner it has messages with has posted, and ends when its messages have arrived and are unpacked. A reduce or a
//   barrier begins when its whole group has posted, a pull or push when its starter has. A barrier of several ranks
//   takes one latency.
// * A message takes t0 of its collective, then is a job on each link it uses (shared_link.h, network.h); it has arrived
//   when all have served it, and the floor of its collective has passed since it started. So a collective by itself, in
//   which every rank sends and gets the same bytes, takes max(floor, t0 + bytes / rate).
// * An exchange that is an all-to-all packs all that its rank sends or keeps, and unpacks all that it gets or keeps
//   (Network::pack_ns_per_byte). Other copies inside a rank that are part of a transfer take no time: tokens of other
//   collectives lie in one piece.
// * While an exchange or reduce with messages is between post and end on a rank, compute there takes
//   Network::compute_slowdown times as long, however many of them are active.
#pragma once

#include <cstdint>
#include <span>

#include "backend/base/cancel_token.h"
#include "backend/plan/plan.h"
#include "backend/plan/timeline.h"
#include "backend/schedule/network.h"

namespace spscope {

// Whether a transfer packs before and unpacks after it.
inline bool packs(const Post& post) {
  return post.kind == PostKind::kExchange && post.collective == Collective::kAllToAll;
}

// Packing before an all-to-all (`end` is &Message::src: what the rank of the op sends or keeps), or unpacking after it
// (&Message::dst: what it gets or keeps); 0 of any other op, and of one without messages to other ranks.
std::int64_t exchange_copy_ns(const Plan& plan, const Op& op, const Network& network, int Message::*end);

// `compute_ns` is by OpId; its entries for communication are not read. Takes O(n log n) for n = ops + messages.
// REQUIRES: verify(plan) is empty, compute_ns.size() == plan.ops.size(), durations >= 0, network.ranks == plan.ranks.
// `issue_ns`, if not empty, is by OpId too. Throws Error (kCancelled) some milliseconds after `cancelled`.
Timeline schedule(const Plan& plan, std::span<const std::int64_t> compute_ns, const Network& network,
                  std::span<const std::int64_t> issue_ns = {}, const CancelToken* cancelled = nullptr);

}  // namespace spscope
