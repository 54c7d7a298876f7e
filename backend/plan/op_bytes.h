// What one op of a plan moves between its rank and others.
#pragma once

#include <cstdint>

#include "backend/plan/plan.h"

namespace spscope {

// Bytes that the op's rank sends to others, and receives from them, in this op.
struct OpBytes {
  std::int64_t sent = 0, received = 0;
  int peer = -1;  // the only other rank; -1 when there are several or none
};
OpBytes op_bytes(const Plan& plan, const Op& op);

}  // namespace spscope
