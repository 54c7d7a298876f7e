// Shapes of the plain attention kernel (attend_plain.cuh) and of the kernels of rows (rows.cuh), which the host reads
// to launch them.
#pragma once

#include <cstdint>

namespace spscope::kernels::cuda {

inline constexpr int kPlainThreads = 128;
inline constexpr int kPlainRowsOfWarp = 4;
inline constexpr int kPlainRows = kPlainThreads / 32 * kPlainRowsOfWarp;
inline constexpr int kPlainKeys = 32;
inline constexpr int kMaxColumnsOfLane = 256 / 32;

// Bytes from the start of a tile of rows of floats to an element.
constexpr int plain_offset(int head_dim, int row, int column) { return (row * (head_dim + 1) + column) * 4; }
constexpr std::int64_t plain_shared_bytes(int head_dim) {
  return kPlainRows * kPlainKeys * 4 + plain_offset(head_dim, kPlainRows + 2 * kPlainKeys, 0);
}

inline constexpr int kRowThreads = 256;

}  // namespace spscope::kernels::cuda
