// Two results.json of gpu-check side by side: two machines, or one on two days.
#pragma once

#include <string>

namespace spscope::gpu_check {

// For people: whose results they are, the checks that ended otherwise, and each figure of checks that both ran, with
// B over A where both have it. "-" is one that is missing, or no number.
// Throws Error where a path holds no results.
std::string difference(const std::string& a, const std::string& b);

}  // namespace spscope::gpu_check
