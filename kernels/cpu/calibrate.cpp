// Peak rates of one core: multiply-adds on registers (for each instruction set, as the kernels), and memory copies.
#include "kernels/calibrate.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "backend/base/check.h"
#include "backend/base/clock.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/calibrate.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace spscope::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Independent chains: latency (at most 5 cycles) times units (2), and with two operands still within 16 registers.
inline constexpr int kChains = 12;

// acc = acc * factor + addend, `steps` times in every chain; returns the number of floating-point operations. `factor`
// and `addend` must not be known when compiling; `result` depends on all chains, so that none is left out.
double run_fma_slice(std::int64_t steps, float factor, float addend, float* result) {
  const hn::ScalableTag<float> d;
  using Vector = hn::Vec<decltype(d)>;
  const Vector a = hn::Set(d, factor), b = hn::Set(d, addend);
  Vector acc[kChains];
  for (int c = 0; c < kChains; ++c) acc[c] = hn::Set(d, static_cast<float>(c));
  for (std::int64_t step = 0; step < steps; ++step) {
    for (int c = 0; c < kChains; ++c) acc[c] = hn::MulAdd(acc[c], a, b);
  }
  Vector total = hn::Zero(d);
  for (int c = 0; c < kChains; ++c) total = hn::Add(total, acc[c]);
  const double lanes = static_cast<double>(hn::Lanes(d));
  *result = hn::GetLane(hn::SumOfLanes(d, total));
  return 2.0 * kChains * lanes * static_cast<double>(steps);
}

const char* target_name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace spscope::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spscope::kernels {

HWY_EXPORT(run_fma_slice);
HWY_EXPORT(target_name);

double measure_fma_gflop_per_s(int slices) {
  // 2^18 steps take about a millisecond on a processor with one or two 512-bit units and 3 GHz.
  constexpr std::int64_t kSteps = 1 << 18;
  volatile float factor = 0.999f, addend = 0.001f, sink = 0;
  float result = 0;
  double best = 0;
  for (int slice = 0; slice < slices; ++slice) {
    const std::int64_t begin_ns = now_ns();
    const double flops = HWY_DYNAMIC_DISPATCH(run_fma_slice)(kSteps, factor, addend, &result);
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

std::string_view dispatched_target() { return HWY_DYNAMIC_DISPATCH(target_name)(); }

}  // namespace spscope::kernels
#endif  // HWY_ONCE
