// Peak rates of one core: multiply-adds on registers, with the kernels' instruction set, and memory copies.
#include "kernels/calibrate.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "backend/base/check.h"
#include "backend/base/clock.h"
#include "kernels/cpu/vector_code.h"

namespace spscope::kernels {

double measure_fma_gflop_per_s(int slices) {
  // 2^18 steps take about a millisecond on a processor with one or two 512-bit units and 3 GHz.
  constexpr std::int64_t kSteps = 1 << 18;
  volatile float factor = 0.999f, addend = 0.001f, sink = 0;
  float result = 0;
  double best = 0;
  for (int slice = 0; slice < slices; ++slice) {
    const std::int64_t begin_ns = now_ns();
    const double flops = vector_code::run_fma_slice(kSteps, factor, addend, &result);
    const std::int64_t elapsed_ns = std::max<std::int64_t>(now_ns() - begin_ns, 1);
    sink = result;
    best = std::max(best, flops / static_cast<double>(elapsed_ns));
  }
  static_cast<void>(sink);
  return best;
}

double measure_copy_gbps(std::int64_t bytes, int repeats) {
  SPSCOPE_CHECK(bytes >= 1);
  std::vector<unsigned char> from(static_cast<std::size_t>(bytes), 1), to(static_cast<std::size_t>(bytes), 2);
  double best = 0;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    from[0] = static_cast<unsigned char>(repeat);
    const std::int64_t begin_ns = now_ns();
    std::memcpy(to.data(), from.data(), from.size());
    const std::int64_t elapsed_ns = std::max<std::int64_t>(now_ns() - begin_ns, 1);
    SPSCOPE_CHECK(to[0] == from[0]);
    best = std::max(best, static_cast<double>(bytes) / static_cast<double>(elapsed_ns));
  }
  return best;
}

std::string_view dispatched_target() { return vector_code::target_name(); }

}  // namespace spscope::kernels
