// Times that the fake CUDA driver pretends with the setting times=planted: of a device on which everything takes
// exactly what these numbers say, so that what is concluded from times can be compared with them.
//
// Each stream has a clock. Attention takes kAttendLaunchNs, kAttendRowNs a query row and kAttendPairNs a pair and
// channel, and while kernels hold SMs longer by the SMs that are left; other kernels take kMoveByteNs for each byte
// that the cost model counts; a copy within and between devices kCopyNs and kCopyByteNs a byte. Nothing else takes
// time, and but for spscope_hold nothing is computed.
#pragma once

#include <string_view>

namespace spscope::fake_cuda {

inline constexpr double kAttendLaunchNs = 40'000, kAttendRowNs = 25, kAttendPairNs = 0.004, kMoveByteNs = 0.5,
                        kCopyNs = 8'000, kCopyByteNs = 0.02;

// Of a launch, alone on the device.
double planted_ns(std::string_view kernel, const void* argument);

}  // namespace spscope::fake_cuda
