// The functions of device.h on the host: the same declarations, with EmulatedBlock behind them. Included by device.h.
#pragma once

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <thread>

#include "backend/base/dtype.h"
#include "kernels/cuda/emulation/block.h"
#include "kernels/cuda/emulation/matrices.h"

namespace spscope::kernels::cuda {

#define SPSCOPE_DEVICE inline
#define SPSCOPE_EACH(i, count) for (int i = 0; i < (count); ++i)
#define SPSCOPE_ROLLED

using SharedAddress = std::uint32_t;

inline int thread_index() { return EmulatedBlock::current().thread(); }
inline int block_index() { return EmulatedBlock::current().block(); }

inline void sync_block() { EmulatedBlock::current().sync_block(); }
inline void sync_warp() { EmulatedBlock::current().sync_warp(); }

inline float shuffle_xor(float x, int lanes) {
  ShuffleOperand operand{x, lanes, 0};
  EmulatedBlock::current().together("shuffle_xor", &operand, shuffle_lanes);
  return operand.result;
}

inline SharedAddress shared_begin() { return 0; }

template <typename T>
T load_shared(SharedAddress from) {
  T value;
  EmulatedBlock::current().read_shared(from, sizeof(T), &value);
  return value;
}
template <typename T>
void store_shared(SharedAddress to, const T& value) {
  EmulatedBlock::current().write_shared(to, sizeof(T), &value);
}

template <typename T>
T load_global(const T* from) {
  EmulatedBlock::current().check_global(from, sizeof(T), alignof(T));
  return *from;
}
template <typename T>
void store_global(T* to, const T& value) {
  EmulatedBlock::current().check_global(to, sizeof(T), alignof(T));
  *to = value;
}

inline void copy_async(SharedAddress to, const void* from, int num_bytes) {
  EmulatedBlock::current().copy_async(to, from, num_bytes);
}
inline void copy_async_commit() { EmulatedBlock::current().copy_async_commit(); }
template <int kPending>
void copy_async_wait() {
  EmulatedBlock::current().copy_async_wait(kPending);
}

inline void ldmatrix(std::uint32_t (&matrices)[4], SharedAddress row) {
  MatrixOperand operand{row, matrices};
  EmulatedBlock& block = EmulatedBlock::current();
  block.together("ldmatrix", &operand, [&](MatrixOperand** lanes) { load_matrices(block, lanes, false); });
}
inline void ldmatrix_transposed(std::uint32_t (&matrices)[4], SharedAddress row) {
  MatrixOperand operand{row, matrices};
  EmulatedBlock& block = EmulatedBlock::current();
  block.together("ldmatrix_transposed", &operand, [&](MatrixOperand** lanes) { load_matrices(block, lanes, true); });
}
inline void mma(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
  MmaOperand operand{c, a, {b0, b1}};
  EmulatedBlock::current().together("mma", &operand, multiply_matrices);
}

inline void forget_origin(std::uint32_t&) {}

// Blocks of a launch run one after the other, each as if on a multiprocessor of its own.
inline int processor_index() { return EmulatedBlock::current().block(); }
inline std::int64_t timer_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}
inline void pause() { std::this_thread::sleep_for(std::chrono::microseconds(20)); }

inline std::uint32_t load_from_host(const std::uint32_t* from) {
  EmulatedBlock::current().check_global(from, sizeof *from, alignof(std::uint32_t));
  return std::atomic_ref(*const_cast<std::uint32_t*>(from)).load();
}
inline void store_for_host(std::uint32_t* to, std::uint32_t word) {
  EmulatedBlock::current().check_global(to, sizeof *to, alignof(std::uint32_t));
  std::atomic_ref(*to).store(word);
}

inline float infinity() { return std::numeric_limits<float>::infinity(); }
inline float maximum(float a, float b) { return std::fmax(a, b); }
inline float exp2_approx(float x) { return std::exp2(x); }
inline float exponential(float x) { return std::exp(x); }

inline float widen(float x) { return x; }
inline float widen(Bf16 x) { return to_float(x); }
inline std::uint32_t pack_bf16(float low, float high) {
  return to_bf16(low).bits | static_cast<std::uint32_t>(to_bf16(high).bits) << 16;
}

}  // namespace spscope::kernels::cuda
