// What plans for many ranks take of this machine, known before they are made: time, to make, verify and schedule them,
// and memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "backend/plan/request.h"
#include "backend/strategies/strategy.h"

namespace spscope {

struct PlanSize {
  double seconds = 0;      // of a core, for one layer pass
  std::int64_t bytes = 0;  // at least; 0: not known
};
// A plan has operations and messages for every pair of a rank and one that it meets, in its ring (as often as it goes
// round) and in its group of Ulysses. On one core of an AMD EPYC a pair took 9 to 23 us and 700 to 1,400 bytes (ring,
// usp, allgather_kv and dbsp on 256 to 1,024 ranks, 2026-11-27).
PlanSize plan_size(const Decision& decision, const Request& request);

// Throws Error (kPlanTooLarge) when the memory that this process can still get surely does not hold the plan.
void require_room_for_plan(const std::string& id, const Decision& decision, const Request& request);

// "planning and scheduling for 2,048 ranks takes about 3 min; ..." when it is more than 20 seconds, else "".
std::string planning_note(std::string_view what, int ranks, double seconds);

}  // namespace spscope
