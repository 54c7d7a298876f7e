// Parts: the checks divided into lots that each end within kPartSeconds, as some machines end a command that takes
// longer.
#pragma once

#include <string>
#include <vector>

#include "bench/gpu/check.h"

namespace spscope::gpu_check {

inline constexpr int kPartSeconds = 480;
// Of a part, without its last seconds: writing results, and a check that does not end at once.
inline constexpr int kPartRoom = kPartSeconds - 15;

// The number of parts that are needed, so that none costs more than kPartRoom.
int fewest_parts();
// The checks of part k of n, 1 <= k <= n, in their order. Every check is in one part. REQUIRES: n >= fewest_parts().
std::vector<const Check*> part(int k, int n);

// How long a check may take before it is stopped.
int timeout_s(const Check& check);

}  // namespace spscope::gpu_check
