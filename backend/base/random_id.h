// 128 random bits: names of runs and shards, unique on all machines without asking anybody.
#pragma once

#include <array>
#include <cstdint>

namespace spscope {

using RandomId = std::array<std::uint8_t, 16>;

// From the kernel. Throws Error (kInternal) when it has none.
RandomId random_id();

}  // namespace spscope
