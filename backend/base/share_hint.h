// A frequent slip: a percentage where a share is wanted.
#pragma once

#include <string>
#include <string_view>

namespace spscope {

// "a share, not a percentage: 0.41" for 41 where a number from 0 to 1 is wanted; "" for all else.
std::string share_hint(std::string_view number, double min, double max);

}  // namespace spscope
