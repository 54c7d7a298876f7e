// Ids that plans, records of events and the store share.
#pragma once

#include <cstddef>
#include <cstdint>

namespace spscope {

using OpId = std::int32_t;    // position in Plan::ops
using PostId = std::int32_t;  // position in Plan::posts
// Marks an absent reference.
inline constexpr std::int32_t kNone = -1;

// An id, a rank or a count as an index of a container. REQUIRES: i >= 0.
constexpr std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// Key of a run's row; means something only within its file.
enum class RunId : std::int64_t {};

}  // namespace spscope
