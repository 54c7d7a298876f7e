// Block-sparse attention in bf16 on tensor cores of sm_80 and newer: mma.sync, ldmatrix, cp.async.
//
// Method: FlashAttention-2 (Dao 2023, arXiv 2307.08691). A block holds kRows rows of q and folds tiles of 64 keys into
// them with online softmax: S = Q K^T, P = exp(S - max), O = O exp(old max - max) + P V. S, P and O stay in registers:
// the layout of mma's results is that of its left operand, so that P is used where it was computed. Scores are kept
// unscaled; exponentials are powers of 2 of score * scale * log2(e), one multiply-add each. Natural units (maximum
// times scale) appear only where rows are read and written.
//
// Shapes: q [rows][D], a stretch's k and v [rows][D], in bf16; O [rows][D] in fp32 or bf16 (launch.h). Products of bf16
// are summed in fp32; P is rounded to bf16, its sum is not.
// Grid: one block a piece; threads and shared memory by AttendShape. A warp has the rows 32 w .. 32 w + 31 (16 of them
// beyond 128 columns) and all keys, so that softmax needs no other warp.
// Pipeline: keys and values are items of one ring of kRing tiles. Before item i is used, its copies have arrived and
// the block has met once, which also frees the place of item i - 1; the load of item i + kRing - 1 goes there, and then
// runs beside kRing - 1 products.
// Registers a thread for D = 128: O 128, S 64, and fragments; more than 255 would spill, which tests forbid. Softmax
// after the second load, where the compiler mixes it with P V, holds scores and weights at once and spills: 3 to 5 %
// slower on an H100 (bench/RESULTS.md).
// Reference and tolerance: kernels/reference.h, tests/unit/kernels_cuda.
#pragma once

#include "kernels/cuda/attend_rows.cuh"
#include "kernels/cuda/tile_copy.cuh"

namespace spscope::kernels::cuda {

// The addresses from which a lane feeds ldmatrix while it walks over a tile: 16 rows from `row` on, two chunks from an
// even chunk on. kTall: matrices 0, 1 are rows 0..7 and 8..15 of the first chunk, 2 and 3 of the second (what mma's
// left operand and values need); else matrices 0, 1 are both chunks of rows 0..7, 2 and 3 of rows 8..15 (keys).
template <class Shape, bool kTall>
class Fragments {
 public:
  SPSCOPE_DEVICE Fragments(SharedAddress tile, int first_row) {
    const int lane = thread_index() % 32;
    const int row = first_row + (kTall ? lane % 16 : lane % 8 + lane / 16 * 8);
    const int chunk = kTall ? lane / 16 : lane / 8 % 2;
    row_ = tile + row * Shape::kRowBytes;
    chunk_ = (chunk ^ Shape::swizzle(row)) * 16;
    forget_origin(chunk_);
  }
  // The swizzle of a row depends on row mod 8 alone and flips bits of the chunk: steps of 16 rows and of 2 chunks are
  // an addition and an exclusive or of constants.
  SPSCOPE_DEVICE SharedAddress at(int rows, int chunks) const {
    return row_ + rows * Shape::kRowBytes + (chunk_ ^ (chunks * 16));
  }

 private:
  SharedAddress row_, chunk_;
};

// What a warp computes: the scores of its rows and a tile of keys, and from them P and O.
template <class Shape>
class AttendWarp {
 public:
  static constexpr int kM = Shape::kRowsOfWarp / 16;  // products of 16 rows
  static constexpr int kD = Shape::kDim / 16;
  static constexpr int kK = Shape::kKeys / 16;

  SPSCOPE_DEVICE explicit AttendWarp(float scale) : scale_(scale * 1.4426950408889634f) {}

  SPSCOPE_DEVICE RowsOfWarp<kM, 2 * kD>& rows() { return rows_; }

  // S = Q K^T.
  SPSCOPE_DEVICE void score(SharedAddress queries, SharedAddress keys) {
    const Fragments<Shape, true> q(queries, thread_index() / 32 * Shape::kRowsOfWarp);
    const Fragments<Shape, false> k(keys, 0);
    SPSCOPE_EACH (m, kM)
      SPSCOPE_EACH (j, 2 * kK)
        SPSCOPE_EACH (i, 4) scores_[m][j][i] = 0;
    SPSCOPE_EACH (d, kD) {
      std::uint32_t a[kM][4];
      SPSCOPE_EACH (m, kM) ldmatrix(a[m], q.at(16 * m, 2 * d));
      SPSCOPE_EACH (n, kK) {
        std::uint32_t b[4];
        ldmatrix(b, k.at(16 * n, 2 * d));
        SPSCOPE_EACH (m, kM) {
          mma(scores_[m][2 * n], a[m], b[0], b[1]);
          mma(scores_[m][2 * n + 1], a[m], b[2], b[3]);
        }
      }
    }
  }

  // Scores of keys that are not there become -infinity.
  SPSCOPE_DEVICE void mask(int keys) {
    SPSCOPE_EACH (m, kM)
      SPSCOPE_EACH (j, 2 * kK)
        SPSCOPE_EACH (i, 4)
          if (j * 8 + thread_index() % 4 * 2 + i % 2 >= keys) scores_[m][j][i] = -infinity();
  }

  // Raises the maxima of rows to those of S, scales O and sums to them, and makes P of S. Every row has a key here,
  // so its maximum is finite.
  SPSCOPE_DEVICE void weigh() {
    SPSCOPE_EACH (m, kM)
      SPSCOPE_EACH (half, 2) {  // rows lane / 4 and lane / 4 + 8
        float highest = rows_.highest[m][half];
        SPSCOPE_EACH (j, 2 * kK)
          highest = maximum(highest, maximum(scores_[m][j][2 * half], scores_[m][j][2 * half + 1]));
        highest = maximum(highest, shuffle_xor(highest, 1));
        highest = maximum(highest, shuffle_xor(highest, 2));
        const float offset = highest * scale_;
        // Exactly 1 where the maximum stays: an error here would grow with each tile.
        const float decay = exp2_approx((rows_.highest[m][half] - highest) * scale_);
        rows_.highest[m][half] = highest;
        float sum = rows_.sum[m][half] * decay;
        SPSCOPE_EACH (j, 2 * kK) {
          const float left = exp2_approx(scores_[m][j][2 * half] * scale_ - offset);
          const float right = exp2_approx(scores_[m][j][2 * half + 1] * scale_ - offset);
          sum += left + right;
          weights_[j / 2][m][j % 2 * 2 + half] = pack_bf16(left, right);
        }
        rows_.sum[m][half] = sum;
        SPSCOPE_EACH (n, 2 * kD) {
          rows_.out[m][n][2 * half] *= decay;
          rows_.out[m][n][2 * half + 1] *= decay;
        }
      }
  }

  // O += P V.
  SPSCOPE_DEVICE void add(SharedAddress values) {
    const Fragments<Shape, true> v(values, 0);
    SPSCOPE_EACH (k, kK) {
      SPSCOPE_EACH (n, kD) {
        std::uint32_t b[4];
        ldmatrix_transposed(b, v.at(16 * k, 2 * n));
        SPSCOPE_EACH (m, kM) {
          mma(rows_.out[m][2 * n], weights_[k][m], b[0], b[1]);
          mma(rows_.out[m][2 * n + 1], weights_[k][m], b[2], b[3]);
        }
      }
    }
  }

 private:
  RowsOfWarp<kM, 2 * kD> rows_;
  float scores_[kM][2 * kK][4];
  std::uint32_t weights_[kK][kM][4];  // P, as left operands of 16 keys each
  float scale_;
};

template <class Shape>
SPSCOPE_DEVICE void attend_mma(const Attend& launch) {
  const SharedAddress queries = shared_begin() + Shape::kQueries;
  const int first_row = thread_index() / 32 * Shape::kRowsOfWarp;
  AttendWarp<Shape> warp(launch.scale);
  KeyTiles<Shape> tiles(launch);
  {
    const AttendRows piece = load_global(launch.rows + block_index());
    if (piece.num_tiles == 0 && piece.fresh == 0) return;
    if (piece.num_tiles > 0) {
      // Queries arrive with the first keys.
      copy_tile<Shape, Shape::kRows>(queries, static_cast<const Bf16*>(piece.q), piece.q_stride, piece.rows,
                                     launch.head_dim);
      tiles.load_keys();
      if constexpr (Shape::kRing == 3) tiles.load_values();
    }
    read_rows(warp.rows(), piece, launch, first_row);
  }
  while (tiles.rows() > 0) {
    const int keys = tiles.rows();
    copy_async_wait<Shape::kRing - 2>();
    sync_block();
    const SharedAddress key_tile = tiles.next_keys();
    if constexpr (Shape::kRing == 3)
      tiles.load_keys();
    else
      tiles.load_values();
    warp.score(queries, key_tile);
    if (keys < Shape::kKeys) warp.mask(keys);
    warp.weigh();

    copy_async_wait<Shape::kRing - 2>();
    sync_block();
    const SharedAddress value_tile = tiles.next_values();
    if constexpr (Shape::kRing == 3)
      tiles.load_values();
    else
      tiles.load_keys();
    warp.add(value_tile);
  }
  // Read again: kept, it would cost registers that the loop needs.
  write_rows<Shape>(warp.rows(), load_global(launch.rows + block_index()), launch, queries);
}

}  // namespace spscope::kernels::cuda
