// Consecutive layer passes as one schedule. In a model the ranks do not meet between layers: a rank that is done with a
// layer begins the next one, while others still compute and its messages still share links with theirs.
//
// A rank begins a pass when all of its ops of the passes before have ended; everything else is as in schedule(). The
// makespan of a pass is the end of its last op minus the end of the last op of the pass before, on any rank, so that
// the makespans of all passes add up to the end of the whole.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/base/cancel_token.h"
#include "backend/plan/plan.h"
#include "backend/plan/timeline.h"
#include "backend/schedule/cost.h"
#include "backend/schedule/network.h"

namespace spscope {

// One plan and the durations of its compute by OpId, as for schedule().
struct LayerPass {
  const Plan* plan = nullptr;
  std::span<const std::int64_t> compute_ns;
  const HostTimes* host = nullptr;  // nullptr: the host takes no time
};

// By rank: how much later than the first one it may begin. Empty: all at once.
using RankLeads = std::vector<std::int64_t>;

struct ScheduledPass {
  Timeline timeline;             // its zero is the first post of the pass
  std::int64_t makespan_ns = 0;  // >= 0
  std::int64_t lead_ns = 0;      // >= 0: from the first post to the end of the pass before; 0 for the first pass
};

struct ScheduledPasses {
  std::vector<ScheduledPass> passes;
  RankLeads leads;  // with which passes that follow would begin
};

// The plans one after the other, as one plan that schedule() takes: ops, posts, messages with their boxes and
// dependencies are there; of values only what their cells take, not where they are; nothing else refers to anything.
// Ranks with a lead begin with an op that takes it, of a post of its own before all others.
struct JoinedPasses {
  Plan plan;
  std::vector<std::int64_t> compute_ns, issue_ns;  // of all ops, as schedule() takes them
};
// The host of a rank goes on with the next pass when it has issued all of the one before.
JoinedPasses join_passes(std::span<const LayerPass> passes, const RankLeads& leads);

// REQUIRES: what schedule() requires of each pass; all plans are for network.ranks. `cancelled`: as there.
ScheduledPasses schedule_passes(std::span<const LayerPass> passes, const Network& network, const RankLeads& leads = {},
                                const CancelToken* cancelled = nullptr);

}  // namespace spscope
