// Ids that plans, records of events and the store share.
#pragma once

#include <cstdint>

namespace spscope {

using OpId = std::int32_t;    // position in Plan::ops
using PostId = std::int32_t;  // position in Plan::posts
// Marks an absent reference.
inline constexpr std::int32_t kNone = -1;

// Key of a run's row; means something only within its file.
enum class RunId : std::int64_t {};

}  // namespace spscope
