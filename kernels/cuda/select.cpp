#include "kernels/cuda/select.h"

#include <array>

#include "backend/base/check.h"
#include "kernels/attention.h"
#include "kernels/cuda/attend_shape.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/plain_shape.h"

namespace spscope::kernels::cuda {
namespace {

struct MmaKernel {
  const char* name;
  int rows, dim, threads;
  std::int64_t shared_bytes;
};

#define SPSCOPE_ATTEND_MMA(rows, dim, ring, blocks)                                                  \
  MmaKernel{"spscope_attend_mma_" #rows "x" #dim, rows, dim, AttendShape<rows, dim, ring>::kThreads, \
            AttendShape<rows, dim, ring>::kSharedBytes},
constexpr MmaKernel kMmaKernels[] = {
#include "kernels/cuda/kernels.def"
};

// The narrowest kernel that takes the head dim, and of those the one with the fewest rows that takes a stretch at once,
// or else the most.
const MmaKernel& choose_mma(int head_dim, std::int32_t longest_rows) {
  const MmaKernel* best = nullptr;
  for (const MmaKernel& kernel : kMmaKernels) {
    if (kernel.dim < head_dim) continue;
    if (best == nullptr || kernel.dim < best->dim || (kernel.dim == best->dim && best->rows < longest_rows))
      best = &kernel;
  }
  SPSCOPE_CHECK(best != nullptr);
  return *best;
}

KernelChoice rows_kernel(const char* name) { return {name, kRowThreads, 0}; }

}  // namespace

AttendChoice choose_attend(Dtype dtype, int head_dim, std::int32_t longest_rows, int compute_capability) {
  SPSCOPE_CHECK(head_dim >= 1 && head_dim <= kMaxHeadDim);
  if (dtype == Dtype::kBf16 && compute_capability >= kTensorCores) {
    const MmaKernel& kernel = choose_mma(head_dim, longest_rows);
    return {{kernel.name, kernel.threads, kernel.shared_bytes}, kernel.rows};
  }
  const char* const name = dtype == Dtype::kBf16 ? "spscope_attend_plain_bf16" : "spscope_attend_plain_fp32";
  return {{name, kPlainThreads, plain_shared_bytes(head_dim)}, kPlainRows};
}

KernelChoice choose_merge() { return rows_kernel("spscope_merge"); }
KernelChoice choose_finish(Dtype dtype) {
  return rows_kernel(dtype == Dtype::kBf16 ? "spscope_finish_bf16" : "spscope_finish_fp32");
}
KernelChoice choose_clear() { return rows_kernel("spscope_clear"); }
KernelChoice choose_copy() { return rows_kernel("spscope_copy"); }
KernelChoice choose_hold(std::int64_t shared_bytes) { return {"spscope_hold", kHoldThreads, shared_bytes}; }

}  // namespace spscope::kernels::cuda
