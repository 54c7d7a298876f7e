// Block-sparse attention for every dtype and head dim by plain fp32 arithmetic: what tensor cores do not serve.
//
// Shapes: q [rows][D], a stretch's k and v [rows][D] in `Number`; O [rows][D] in fp32, or finished in `Number`.
// Grid: one block a piece of at most 16 rows; 4 warps, each with 4 of the rows. Keys are folded in 32 at a time: a lane
// scores one key against its warp's rows, then the lanes share the columns of O (a column a lane, of each 32).
// Shared memory, in floats: queries [16][D + 1], keys and values [32][D + 1] each, weights [4 warps][32 keys][4 rows].
// The odd row lets 32 lanes read 32 rows at once. Softmax is online, in natural units.
// Reference and tolerance: kernels/reference.h, tests/unit/kernels_cuda.
#pragma once

#include "kernels/cuda/device.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/plain_shape.h"

namespace spscope::kernels::cuda {

struct alignas(16) Weights {
  float of[kPlainRowsOfWarp];
};

template <typename Number>
SPSCOPE_DEVICE void store_number(Number* to, float x) {
  if constexpr (sizeof(Number) == sizeof(float))
    store_global(to, x);
  else
    store_global(to, Bf16{static_cast<std::uint16_t>(pack_bf16(x, 0))});
}

// Rows of q or of a stretch as floats, zeros beyond `rows`.
template <typename Number>
SPSCOPE_DEVICE void copy_floats(SharedAddress tile, const void* data, std::int64_t stride, int rows, int tile_rows,
                                int head_dim) {
  const Number* const numbers = static_cast<const Number*>(data);
  for (int row = thread_index() / 32; row < tile_rows; row += kPlainThreads / 32)
    for (int i = thread_index() % 32; i < head_dim; i += 32)
      store_shared(tile + plain_offset(head_dim, row, i),
                   row < rows ? widen(load_global(numbers + row * stride + i)) : 0.0f);
}

// The state of a warp's rows: every lane knows maxima and sums, and has the columns lane, lane + 32, ... of O.
struct PlainRows {
  float out[kPlainRowsOfWarp][kMaxColumnsOfLane];
  float highest[kPlainRowsOfWarp], sum[kPlainRowsOfWarp];
};

SPSCOPE_DEVICE void read_plain_rows(PlainRows& rows, const AttendRows& piece, int first_row, int head_dim) {
  SPSCOPE_EACH (r, kPlainRowsOfWarp) {
    const bool there = piece.fresh == 0 && first_row + r < piece.rows;
    rows.highest[r] = there ? load_global(piece.row_max + first_row + r) : -infinity();
    rows.sum[r] = there ? load_global(piece.row_sum + first_row + r) : 0;
    SPSCOPE_EACH (c, kMaxColumnsOfLane) {
      const int column = thread_index() % 32 + 32 * c;
      rows.out[r][c] =
          there && column < head_dim ? load_global(piece.out + (first_row + r) * piece.out_stride + column) : 0;
    }
  }
}

template <typename Number>
SPSCOPE_DEVICE void write_plain_rows(const PlainRows& rows, const AttendRows& piece, int first_row, int head_dim) {
  SPSCOPE_EACH (r, kPlainRowsOfWarp) {
    const int row = first_row + r;
    if (row >= piece.rows) continue;
    const float share = rows.sum[r] > 0 ? 1 / rows.sum[r] : 0;
    if (piece.finished == nullptr && thread_index() % 32 == 0) {
      store_global(piece.row_max + row, rows.highest[r]);
      store_global(piece.row_sum + row, rows.sum[r]);
    }
    SPSCOPE_EACH (c, kMaxColumnsOfLane) {
      const int column = thread_index() % 32 + 32 * c;
      if (column >= head_dim) continue;
      if (piece.finished != nullptr)
        store_number(static_cast<Number*>(piece.finished) + row * piece.finished_stride + column,
                     rows.out[r][c] * share);
      else
        store_global(piece.out + row * piece.out_stride + column, rows.out[r][c]);
    }
  }
}

// Folds `keys` keys into the rows of the warp. `weights` is the warp's own.
SPSCOPE_DEVICE void fold_keys(PlainRows& rows, SharedAddress queries, SharedAddress keys_tile, SharedAddress values,
                              SharedAddress weights, int keys, int head_dim, float scale) {
  const int lane = thread_index() % 32, first_row = thread_index() / 32 * kPlainRowsOfWarp;
  float score[kPlainRowsOfWarp] = {};
  for (int i = 0; i < head_dim; ++i) {
    const float k = load_shared<float>(keys_tile + plain_offset(head_dim, lane, i));
    SPSCOPE_EACH (r, kPlainRowsOfWarp)
      score[r] += k * load_shared<float>(queries + plain_offset(head_dim, first_row + r, i));
  }
  Weights weight;
  SPSCOPE_EACH (r, kPlainRowsOfWarp) {
    score[r] = lane < keys ? score[r] * scale : -infinity();
    float highest = score[r];
    for (int lanes = 16; lanes > 0; lanes /= 2) highest = maximum(highest, shuffle_xor(highest, lanes));
    highest = maximum(highest, rows.highest[r]);
    const float decay = exponential(rows.highest[r] - highest);
    weight.of[r] = exponential(score[r] - highest);
    float sum = weight.of[r];
    for (int lanes = 16; lanes > 0; lanes /= 2) sum += shuffle_xor(sum, lanes);
    rows.highest[r] = highest;
    rows.sum[r] = rows.sum[r] * decay + sum;
    SPSCOPE_EACH (c, kMaxColumnsOfLane) rows.out[r][c] *= decay;
  }
  sync_warp();  // the weights before were read
  store_shared(weights + lane * static_cast<int>(sizeof(Weights)), weight);
  sync_warp();
  for (int key = 0; key < keys; ++key) {
    const Weights of_key = load_shared<Weights>(weights + key * static_cast<int>(sizeof(Weights)));
    SPSCOPE_EACH (c, kMaxColumnsOfLane) {
      if (lane + 32 * c >= head_dim) continue;
      const float v = load_shared<float>(values + plain_offset(head_dim, key, lane + 32 * c));
      SPSCOPE_EACH (r, kPlainRowsOfWarp) rows.out[r][c] += of_key.of[r] * v;
    }
  }
}

template <typename Number>
SPSCOPE_DEVICE void attend_plain(const Attend& launch) {
  const AttendRows piece = load_global(launch.rows + block_index());
  if (piece.num_tiles == 0 && piece.fresh == 0) return;
  const int head_dim = launch.head_dim, warp = thread_index() / 32;
  const SharedAddress weights = shared_begin() + warp * kPlainKeys * static_cast<int>(sizeof(Weights));
  const SharedAddress queries = shared_begin() + kPlainRows * kPlainKeys * static_cast<int>(sizeof(float));
  const SharedAddress keys = queries + plain_offset(head_dim, kPlainRows, 0);
  const SharedAddress values = keys + plain_offset(head_dim, kPlainKeys, 0);
  PlainRows rows;
  read_plain_rows(rows, piece, warp * kPlainRowsOfWarp, head_dim);
  copy_floats<Number>(queries, piece.q, piece.q_stride, piece.rows, kPlainRows, head_dim);
  for (int tile = 0; tile < piece.num_tiles; ++tile) {
    const int index = load_global(launch.tiles + piece.tile_begin + tile);
    const AttendKeys stretch = load_global(launch.keys + piece.first_key + index);
    for (int first = 0; first < stretch.rows; first += kPlainKeys) {
      const int count = stretch.rows - first < kPlainKeys ? stretch.rows - first : kPlainKeys;
      const std::int64_t skip = first * stretch.stride;
      sync_block();  // the keys before were read
      copy_floats<Number>(keys, static_cast<const Number*>(stretch.k) + skip, stretch.stride, count, kPlainKeys,
                          head_dim);
      copy_floats<Number>(values, static_cast<const Number*>(stretch.v) + skip, stretch.stride, count, kPlainKeys,
                          head_dim);
      sync_block();
      fold_keys(rows, queries, keys, values, weights, count, head_dim, launch.scale);
    }
  }
  write_plain_rows<Number>(rows, piece, warp * kPlainRowsOfWarp, head_dim);
}

}  // namespace spscope::kernels::cuda
