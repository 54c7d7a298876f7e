// The times of a plan's ops as events. Each op is one event on its rank and lane: compute is a span, communication and
// what waited before it began a collective record (entry = post, transfer begin = begin, transfer end = end).
#pragma once

#include <string>

#include "backend/plan/op_bytes.h"
#include "backend/plan/plan.h"
#include "backend/plan/timeline.h"
#include "backend/record/events.h"
#include "backend/store/chunk/event_writer.h"

namespace spscope {

// What an event of this op is called: the kernel's name, or the kind and the tensors it moves ("exchange kv").
std::string op_name(const Plan& plan, const Op& op);

// For colour and sums.
EventCategory op_category(PostKind kind);

// Appends the events of one repeat that starts at `begin_ns` of the run clock. Ops of one rank and lane
// that overlap go to different slots, at most kMaxSlots; what finds none goes to one overlapping track. REQUIRES: one
// entry per op, no op before the repeat begins, and compute begins when it is posted.
inline constexpr int kMaxSlots = 64;
void append_timeline(EventWriter& events, RunId run, const Plan& plan, const Timeline& timeline, std::int64_t begin_ns,
                     const RunProvenance& provenance);

}  // namespace spscope
