// Two results.json of gpu-check side by side: two machines, or one on two days.
#pragma once

#include <string>

namespace spscope::gpu_check {

// For people: whose results they are, the checks that ended otherwise, and each figure that both have with B over A.
// Throws Error where a path holds no results.
std::string difference(const std::string& a, const std::string& b);

}  // namespace spscope::gpu_check
