// The vector code without Highway: vectors of four floats by the compiler's vector extensions, for the instruction set
// that the build is for. Right everywhere, several times slower than cpu/highway where wider vectors exist.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "backend/base/check.h"
#include "kernels/cpu/portable/portable_vectors.h"
#include "kernels/cpu/vector_code.h"

namespace spscope::kernels {
namespace portable {

namespace hn = portable_vectors;

inline constexpr int kRegisters = 16;

#include "kernels/cpu/vector_code.inc"

}  // namespace portable

namespace vector_code {

void attend_task(const AttentionTask& task, AttentionScratch& scratch) { portable::attend_task(task, scratch); }
void exp_nonpositive(const float* x, float* out, std::size_t count) { portable::exp_nonpositive_array(x, out, count); }
double run_fma_slice(std::int64_t steps, float factor, float addend, float* result) {
  return portable::run_fma_slice(steps, factor, addend, result);
}
std::string_view target_name() { return "portable"; }

}  // namespace vector_code
}  // namespace spscope::kernels
