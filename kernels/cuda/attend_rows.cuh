// The rows that a warp of the attention kernel accumulates: in registers as mma leaves its results, and from and to
// memory in natural units.
#pragma once

#include "kernels/cuda/attend_shape.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/launch.h"

namespace spscope::kernels::cuda {

// 16 kM rows of 8 kN columns. With g = lane / 4 and t = lane % 4 * 2 the lane has of tile (m, n) the elements
// (16 m + g, 8 n + t..t+1) and (16 m + g + 8, 8 n + t..t+1), and half h of m is row 16 m + 8 h + g.
template <int kM, int kN>
struct RowsOfWarp {
  float out[kM][kN][4];
  float highest[kM][2];  // largest score before scaling, the same in the four lanes of a row
  float sum[kM][2];      // the lane's share of the row's sum
};

// Calls visit(m, half, row of the piece) for the lane's rows that are there.
template <int kM, int kN, typename Visit>
SPSCOPE_DEVICE void for_each_row(const RowsOfWarp<kM, kN>&, int first_row, int num_rows, Visit&& visit) {
  SPSCOPE_EACH (m, kM)
    SPSCOPE_EACH (half, 2) {
      const int row = first_row + 16 * m + 8 * half + thread_index() % 32 / 4;
      if (row < num_rows) visit(m, half, row);
    }
}

struct alignas(8) Float2 {
  float x, y;
};

// Sets the rows from `first_row` of the piece on to their state; those that are fresh or not there to (0, -inf, 0).
template <int kM, int kN>
SPSCOPE_DEVICE void read_rows(RowsOfWarp<kM, kN>& rows, const AttendRows& piece, const Attend& launch, int first_row) {
  SPSCOPE_EACH (m, kM) {
    SPSCOPE_EACH (n, kN)
      SPSCOPE_EACH (i, 4) rows.out[m][n][i] = 0;
    SPSCOPE_EACH (half, 2) rows.highest[m][half] = -infinity(), rows.sum[m][half] = 0;
  }
  if (piece.fresh != 0) return;
  const int lane = thread_index() % 4, head_dim = launch.head_dim;
  for_each_row(rows, first_row, piece.rows, [&](int m, int half, int row) {
    rows.highest[m][half] = load_global(piece.row_max + row) / launch.scale;
    if (lane == 0) rows.sum[m][half] = load_global(piece.row_sum + row);
    const float* const out = piece.out + row * piece.out_stride + lane * 2;
    SPSCOPE_EACH (n, kN) {
      const int column = n * 8 + lane * 2;
      if (column < head_dim) rows.out[m][n][2 * half] = load_global(out + n * 8);
      if (column + 1 < head_dim) rows.out[m][n][2 * half + 1] = load_global(out + n * 8 + 1);
    }
  });
}

// Unfinished rows to memory. Four lanes write 32 adjacent bytes, the unit of the second-level cache.
template <int kM, int kN>
SPSCOPE_DEVICE void write_unfinished(const RowsOfWarp<kM, kN>& rows, const AttendRows& piece, const Attend& launch,
                                     int first_row) {
  const int lane = thread_index() % 4, head_dim = launch.head_dim;
  for_each_row(rows, first_row, piece.rows, [&](int m, int half, int row) {
    if (lane == 0) {
      store_global(piece.row_max + row, rows.highest[m][half] * launch.scale);
      store_global(piece.row_sum + row, rows.sum[m][half]);
    }
    float* const out = piece.out + row * piece.out_stride + lane * 2;
    SPSCOPE_EACH (n, kN) {
      const int column = n * 8 + lane * 2;
      const Float2 pair = {rows.out[m][n][2 * half], rows.out[m][n][2 * half + 1]};
      if (head_dim % 8 == 0) {
        if (column < head_dim) store_global(reinterpret_cast<Float2*>(out + n * 8), pair);
      } else {
        if (column < head_dim) store_global(out + n * 8, pair.x);
        if (column + 1 < head_dim) store_global(out + n * 8 + 1, pair.y);
      }
    }
  });
}

struct alignas(16) Chunk {
  std::uint32_t words[4];
};

// Finished rows to memory, in bf16: by way of the warp's own rows of the tile of queries, which no one needs any more,
// so that a row is written 16 bytes a lane.
template <class Shape, int kM, int kN>
SPSCOPE_DEVICE void write_finished(const RowsOfWarp<kM, kN>& rows, const AttendRows& piece, const Attend& launch,
                                   int first_row, SharedAddress tile) {
  sync_warp();  // all lanes have read their queries
  SPSCOPE_EACH (m, kM)
    SPSCOPE_EACH (half, 2) {
      const int row = first_row + 16 * m + 8 * half + thread_index() % 32 / 4;
      const float share = rows.sum[m][half] > 0 ? 1 / rows.sum[m][half] : 0;
      SPSCOPE_EACH (n, kN)
        store_shared(tile + Shape::offset(row, n) + thread_index() % 4 * 4,
                     pack_bf16(rows.out[m][n][2 * half] * share, rows.out[m][n][2 * half + 1] * share));
    }
  sync_warp();
  Bf16* const finished = static_cast<Bf16*>(piece.finished);
  SPSCOPE_ROLLED
  for (int at = thread_index() % 32; at < Shape::kRowsOfWarp * Shape::kChunks; at += 32) {
    const int row = first_row + at / Shape::kChunks, chunk = at % Shape::kChunks;
    if (row >= piece.rows || chunk * 8 >= launch.head_dim) continue;
    const Chunk values = load_shared<Chunk>(tile + Shape::offset(row, chunk));
    Bf16* const to = finished + row * piece.finished_stride + chunk * 8;
    if (launch.head_dim % 8 == 0) {
      store_global(reinterpret_cast<Chunk*>(to), values);
      continue;
    }
    for (int i = 0; i < 8; ++i)
      if (chunk * 8 + i < launch.head_dim)
        store_global(to + i, Bf16{static_cast<std::uint16_t>(values.words[i / 2] >> (i % 2 * 16))});
  }
}

template <class Shape, int kM, int kN>
SPSCOPE_DEVICE void write_rows(RowsOfWarp<kM, kN>& rows, const AttendRows& piece, const Attend& launch,
                               SharedAddress queries) {
  SPSCOPE_EACH (m, kM)
    SPSCOPE_EACH (half, 2) {
      rows.sum[m][half] += shuffle_xor(rows.sum[m][half], 1);
      rows.sum[m][half] += shuffle_xor(rows.sum[m][half], 2);
    }
  const int first_row = thread_index() / 32 * Shape::kRowsOfWarp;
  if (piece.finished != nullptr)
    write_finished<Shape>(rows, piece, launch, first_row, queries);
  else
    write_unfinished(rows, piece, launch, first_row);
}

}  // namespace spscope::kernels::cuda
