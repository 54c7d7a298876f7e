// The vector code for each instruction set that the compiler knows, chosen at run time by Highway. This file includes
// itself once for each (foreach_target.h); the part under HWY_ONCE is compiled once.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "backend/base/check.h"
#include "kernels/cpu/vector_code.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/highway.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace spscope::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET <= HWY_AVX3 || HWY_TARGET == HWY_NEON
inline constexpr int kRegisters = 32;
#else
inline constexpr int kRegisters = 16;
#endif

#include "kernels/cpu/vector_code.inc"

const char* target_name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace spscope::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spscope::kernels {

HWY_EXPORT(attend_task);
HWY_EXPORT(exp_nonpositive_array);
HWY_EXPORT(run_fma_slice);
HWY_EXPORT(target_name);

namespace vector_code {

void attend_task(const AttentionTask& task, AttentionScratch& scratch) {
  HWY_DYNAMIC_DISPATCH(attend_task)(task, scratch);
}
void exp_nonpositive(const float* x, float* out, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(exp_nonpositive_array)(x, out, count);
}
double run_fma_slice(std::int64_t steps, float factor, float addend, float* result) {
  return HWY_DYNAMIC_DISPATCH(run_fma_slice)(steps, factor, addend, result);
}
std::string_view target_name() { return HWY_DYNAMIC_DISPATCH(target_name)(); }

}  // namespace vector_code
}  // namespace spscope::kernels
#endif  // HWY_ONCE
