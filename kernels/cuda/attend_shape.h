// Shapes of the attention kernel on tensor cores (attend_mma.cuh): how rows and keys are cut into tiles, and how tiles
// lie in shared memory. Read by the kernel, and by the host to choose one and to know its needs.
//
// A tile is [rows][D] of bf16, where D is the head dim padded with zeros to kDim. 16 bytes are a chunk; chunk c of row
// r lies at r * kRowBytes + 16 * (c ^ swizzle(r)), so that the 8 rows of a matrix that ldmatrix reads, and the 8 chunks
// that a quarter of a warp writes, fall into different banks:
//   chunks of a row  = 0 mod 8: rows begin at the same bank, and r mod 8 tells them apart;
//                    = 4 mod 8: two rows fill a line of 128 bytes, and (r / 2) mod 4 tells lines apart;
//                    = 2 mod 4: four rows fill lines in an odd pattern, and (r / 4) mod 2 tells groups apart.
#pragma once

#include <cstdint>

namespace spscope::kernels::cuda {

// kRows rows of q a block, head dims up to kDim, kRing tiles of keys and values at once in shared memory.
template <int kRows_, int kDim_, int kRing_>
struct AttendShape {
  static constexpr int kRows = kRows_, kDim = kDim_, kRing = kRing_;
  static constexpr int kKeys = 64;  // keys of a tile
  // A warp with 32 rows uses each matrix of keys for two products, which halves what it reads from shared memory;
  // beyond 128 columns its results would not fit its registers.
  static constexpr int kRowsOfWarp = kDim <= 128 ? 32 : 16;
  static constexpr int kThreads = kRows / kRowsOfWarp * 32;
  static constexpr int kChunks = kDim / 8;
  static constexpr int kRowBytes = kDim * 2;
  static constexpr int kTileBytes = kKeys * kRowBytes;
  static constexpr int kStretches = 32;  // descriptions of stretches of keys held at once, 32 bytes each

  // Bytes of dynamic shared memory: stretches, then queries, then the ring.
  static constexpr int kQueries = kStretches * 32;
  static constexpr int kTiles = kQueries + kRows * kRowBytes;
  static constexpr int kSharedBytes = kTiles + kRing * kTileBytes;

  static constexpr int swizzle(int row) {
    return kChunks % 8 == 0 ? row % 8 : kChunks % 4 == 0 ? row / 2 % 4 : row / 4 % 2;
  }
  static constexpr int offset(int row, int chunk) { return row * kRowBytes + (chunk ^ swizzle(row)) * 16; }

  static_assert(kDim % 16 == 0 && kRows % kRowsOfWarp == 0 && (kRing == 2 || kRing == 3));
};

}  // namespace spscope::kernels::cuda
