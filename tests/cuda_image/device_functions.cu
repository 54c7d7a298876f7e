// Every function of kernels/cuda/device.h once, those that no kernel of the image uses among them, so that nvcc and the
// assembler have seen them.
#include "kernels/cuda/device.h"

namespace spscope::kernels::cuda {

extern "C" __global__ void device_functions(float* out, const Bf16* in) {
  const SharedAddress shared = shared_begin();
  copy_async(shared + 16 * (1 + thread_index()), in + 8 * thread_index(), 16);
  copy_async_commit();
  copy_async_wait<0>();
  sync_block();
  std::uint32_t a[4], b[4];
  ldmatrix(a, shared + 16 * (1 + thread_index() % 32));
  ldmatrix_transposed(b, shared + 16 * (1 + thread_index() % 32));
  forget_origin(a[0]);
  float c[4] = {};
  mma(c, a, b[0], b[1]);
  store_shared(shared + 16 * thread_index(), pack_bf16(shuffle_xor(c[0], 1), maximum(c[1], -infinity())));
  sync_warp();
  const float x = exponential(c[2]) + exp2_approx(c[3]) + widen(1.0f) + widen(load_global(in));
  store_global(out + block_index(), x + load_shared<float>(shared));
}

}  // namespace spscope::kernels::cuda
