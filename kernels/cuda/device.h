// What kernel sources are written with: one thread of a CUDA kernel under nvcc, and a fiber of the emulation under g++
// (emulation/device_emulated.h, which declares the same functions). All of a kernel's accesses to memory go through
// load_*, store_*, ldmatrix and copy_async, so that the emulation can check them.
//
// Names and fragment layouts are those of the PTX manual (ISA 8.x): ldmatrix, mma.m16n8k16, cp.async.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/base/dtype.h"

#ifndef __CUDACC__
#include "kernels/cuda/emulation/device_emulated.h"
#else

namespace spscope::kernels::cuda {

#define SPSCOPE_DEVICE __device__ __forceinline__
// A loop over 0 .. count - 1 that is unrolled, so that arrays that it indexes are registers; one that is not.
#define SPSCOPE_EACH(i, count) _Pragma("unroll") for (int i = 0; i < (count); ++i)
#define SPSCOPE_ROLLED _Pragma("unroll 1")

// Bytes from the start of the shared window of the block's address space, as 32-bit operands of PTX take them.
using SharedAddress = std::uint32_t;

SPSCOPE_DEVICE int thread_index() { return static_cast<int>(threadIdx.x); }
SPSCOPE_DEVICE int block_index() { return static_cast<int>(blockIdx.x); }

// -- waiting for others: of the block, of the warp

SPSCOPE_DEVICE void sync_block() { __syncthreads(); }
SPSCOPE_DEVICE void sync_warp() { __syncwarp(); }

SPSCOPE_DEVICE float shuffle_xor(float x, int lanes) { return __shfl_xor_sync(0xffffffffu, x, lanes); }

// -- memory

extern __shared__ __align__(1024) unsigned char dynamic_shared[];

SPSCOPE_DEVICE SharedAddress shared_begin() {
  return static_cast<SharedAddress>(__cvta_generic_to_shared(dynamic_shared));
}

// T of 2, 4, 8 or a multiple of 16 bytes, at a multiple of its size (16 at most).
template <typename T>
SPSCOPE_DEVICE T load_shared(SharedAddress from) {
  return *reinterpret_cast<const T*>(__cvta_shared_to_generic(from));
}
template <typename T>
SPSCOPE_DEVICE void store_shared(SharedAddress to, const T& value) {
  *reinterpret_cast<T*>(__cvta_shared_to_generic(to)) = value;
}

// Pointers that themselves come from memory could point anywhere, for all that the compiler knows.
template <typename T>
SPSCOPE_DEVICE T load_global(const T* from) {
  __builtin_assume(__isGlobal(from));
  return *from;
}
template <typename T>
SPSCOPE_DEVICE void store_global(T* to, const T& value) {
  __builtin_assume(__isGlobal(to));
  *to = value;
}

// 16 bytes from global to shared memory, both aligned to 16; with `num_bytes` 0 instead of 16 zeros, and nothing is
// read. They are there for the thread after copy_async_wait, and for others after a barrier that follows it.
SPSCOPE_DEVICE void copy_async(SharedAddress to, const void* from, int num_bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(num_bytes) : "memory");
}
// The copies since the last commit become a group.
SPSCOPE_DEVICE void copy_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits until at most kPending of the thread's groups, the youngest, are under way.
template <int kPending>
SPSCOPE_DEVICE void copy_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

// -- matrices

// Four 8 x 8 matrices of 16-bit elements; lanes 8i .. 8i + 7 give the addresses of the rows of matrix i (16 bytes each,
// aligned). The lane gets of each matrix the elements (lane / 4, lane % 4 * 2 + {0, 1}).
SPSCOPE_DEVICE void ldmatrix(std::uint32_t (&matrices)[4], SharedAddress row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]), "=r"(matrices[3])
               : "r"(row)
               : "memory");
}
// As ldmatrix, of the transposed matrices: elements (lane % 4 * 2 + {0, 1}, lane / 4) of what is stored.
SPSCOPE_DEVICE void ldmatrix_transposed(std::uint32_t (&matrices)[4], SharedAddress row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]), "=r"(matrices[3])
               : "r"(row)
               : "memory");
}

// c += a b for a [16, 16], b [16, 8] in bf16 and c [16, 8] in fp32. With g = lane / 4 and t = lane % 4 * 2 the lane has
//   a[0] (g, t..t+1)  a[1] (g + 8, t..t+1)  a[2] (g, t + 8..t + 9)  a[3] (g + 8, t + 8..t + 9)
//   b0 (t..t+1, g)    b1 (t + 8..t + 9, g)
//   c[0..1] (g, t..t+1)  c[2..3] (g + 8, t..t+1)
SPSCOPE_DEVICE void mma(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Hides from the compiler where a number comes from. Inside a loop, what follows from it is computed anew each time,
// instead of once before the loop, to be kept in registers.
SPSCOPE_DEVICE void forget_origin(std::uint32_t& x) { asm volatile("" : "+r"(x)); }

// -- waiting for the host

// The multiprocessor that runs the block.
SPSCOPE_DEVICE int processor_index() {
  int index;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(index));
  return index;
}
SPSCOPE_DEVICE std::int64_t timer_ns() {
  std::int64_t ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}
SPSCOPE_DEVICE void pause() { __nanosleep(500); }

// Words that the host writes or reads while the kernel runs.
SPSCOPE_DEVICE std::uint32_t load_from_host(const std::uint32_t* from) {
  std::uint32_t word;
  asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(word) : "l"(from) : "memory");
  return word;
}
SPSCOPE_DEVICE void store_for_host(std::uint32_t* to, std::uint32_t word) {
  asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(to), "r"(word) : "memory");
}

// -- numbers

SPSCOPE_DEVICE float infinity() { return __int_as_float(0x7f800000); }
SPSCOPE_DEVICE float maximum(float a, float b) { return fmaxf(a, b); }

// 2^x to 2 units in the last place; 0 for -infinity.
SPSCOPE_DEVICE float exp2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// e^x; 0 for -infinity.
SPSCOPE_DEVICE float exponential(float x) { return expf(x); }

SPSCOPE_DEVICE float widen(float x) { return x; }
SPSCOPE_DEVICE float widen(Bf16 x) { return __uint_as_float(static_cast<std::uint32_t>(x.bits) << 16); }

// Two numbers as bf16, rounded to nearest even, the first in the lower half.
SPSCOPE_DEVICE std::uint32_t pack_bf16(float low, float high) {
  std::uint32_t packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

}  // namespace spscope::kernels::cuda

#endif
