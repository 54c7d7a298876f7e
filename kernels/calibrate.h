// Peak rates of one core of this machine, as a reference for measured kernels. They are measured in the same process
// and at the same time as the kernels, since clock rates vary and other programs may share the core.
#pragma once

#include <cstdint>
#include <string_view>

namespace spscope::kernels {

// Highest rate of fp32 fused multiply-adds on registers alone, over several slices of about a millisecond; 10^9 FLOP/s,
// a multiply-add being two. Uses the vector width that `attend` uses.
double measure_fma_gflop_per_s(int slices = 5);

// Rate at which one core copies `bytes` between two buffers, the best of `repeats`; 10^9 bytes copied a second (read
// and written bytes are counted once). The default exceeds the caches of usual processors.
double measure_copy_gbps(std::int64_t bytes = std::int64_t{128} << 20, int repeats = 3);

// Name of the instruction set in use on this processor, as Highway calls it: "AVX3", "AVX2", "NEON", "SCALAR".
std::string_view dispatched_target();

}  // namespace spscope::kernels
