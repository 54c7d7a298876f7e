// Staging: memory for transfers beside the values that a plan moves (memory.h counts those at both ends).
//
// Libraries of collectives send and receive runs of memory. A value lies as [tokens][columns] of what its rank holds,
// so a part that is not one run of it is packed before it is sent, and unpacked after it is received: Ulysses packs q,
// k and v (some heads of all its tokens) and unpacks o, a ring hop sends the whole buffer as it is. A sum receives the
// share of each other rank beside the result. One-sided transfers go to and from their place.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/plan/plan.h"

namespace spscope {

// Bytes by rank: the largest transfer of each lane, added up over lanes. REQUIRES: verify(plan) is empty.
std::vector<std::int64_t> staging_bytes(const Plan& plan);

}  // namespace spscope
