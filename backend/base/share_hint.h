// The hint for a frequent mistake: a percentage where a share is expected.
#pragma once

#include <string>
#include <string_view>

namespace spscope {

// "a share, not a percentage: 0.41" for 41 where the range is [0, 1]; "" for anything else.
std::string share_hint(std::string_view number, double min, double max);

}  // namespace spscope
