// The kernels that only move and combine rows: clear, merge, finish, and copies of cells. They are limited by memory; a
// block serves one piece, a warp one row at a time.
//
// Reference: kernels/cpu/rows.cpp, which states the same for the CPU.
#pragma once

#include "kernels/cuda/attend_plain.cuh"
#include "kernels/cuda/device.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/plain_shape.h"

namespace spscope::kernels::cuda {

// Calls visit(row) for the rows of this warp, and its lanes together.
template <typename Visit>
SPSCOPE_DEVICE void for_each_row_of_piece(int rows, Visit&& visit) {
  for (int row = thread_index() / 32; row < rows; row += kRowThreads / 32) visit(row);
}

SPSCOPE_DEVICE void clear_rows(const Clear& launch) {
  const ClearPiece piece = load_global(launch.pieces + block_index());
  const int lane = thread_index() % 32;
  for_each_row_of_piece(piece.rows, [&](int row) {
    for (int i = lane; i < launch.head_dim; i += 32)
      store_global(piece.into.out + row * piece.into.out_stride + i, 0.0f);
    if (lane != 0) return;
    store_global(piece.into.row_max + row * piece.into.statistic_stride, -infinity());
    store_global(piece.into.row_sum + row * piece.into.statistic_stride, 0.0f);
  });
}

SPSCOPE_DEVICE void merge_rows(const Merge& launch) {
  const MergePiece piece = load_global(launch.pieces + block_index());
  const int lane = thread_index() % 32;
  for_each_row_of_piece(piece.rows, [&](int row) {
    const std::int64_t from = row * piece.from.statistic_stride, into = row * piece.into.statistic_stride;
    const float from_max = load_global(piece.from.row_max + from), into_max = load_global(piece.into.row_max + into);
    const float from_sum = load_global(piece.from.row_sum + from), into_sum = load_global(piece.into.row_sum + into);
    const float highest = maximum(from_max, into_max);
    // A row without keys has weight 0, even against another such row.
    const float from_weight = from_max == -infinity() ? 0 : exponential(from_max - highest);
    const float into_weight = into_max == -infinity() ? 0 : exponential(into_max - highest);
    const float* const from_out = piece.from.out + row * piece.from.out_stride;
    float* const into_out = piece.into.out + row * piece.into.out_stride;
    for (int i = lane; i < launch.head_dim; i += 32)
      store_global(into_out + i, load_global(into_out + i) * into_weight + load_global(from_out + i) * from_weight);
    sync_warp();  // all lanes have read the statistics
    if (lane != 0) return;
    store_global(piece.into.row_max + into, highest);
    store_global(piece.into.row_sum + into, into_sum * into_weight + from_sum * from_weight);
  });
}

template <typename Number>
SPSCOPE_DEVICE void finish_rows(const Finish& launch) {
  const FinishPiece piece = load_global(launch.pieces + block_index());
  const int lane = thread_index() % 32;
  for_each_row_of_piece(piece.rows, [&](int row) {
    const float sum = load_global(piece.from.row_sum + row * piece.from.statistic_stride);
    const float share = sum > 0 ? 1 / sum : 0;
    const float* const out = piece.from.out + row * piece.from.out_stride;
    Number* const finished = static_cast<Number*>(piece.finished) + row * piece.finished_stride;
    for (int i = lane; i < launch.head_dim; i += 32) store_number(finished + i, load_global(out + i) * share);
  });
}

struct alignas(16) Bytes16 {
  std::uint32_t words[4];
};

// Units of a cell are spread over threads; as many cells as there are threads left go at once, and of those a thread
// loads four before it stores any, so that it waits for memory once.
template <typename Unit>
SPSCOPE_DEVICE void copy_units(const CopyPiece& piece) {
  constexpr int kAtOnce = 4;
  const int units = static_cast<int>(piece.cell_bytes / static_cast<std::int64_t>(sizeof(Unit)));
  const int lanes = units < kRowThreads ? units : kRowThreads;  // threads of a cell
  const int cells = kRowThreads / lanes;                        // at once
  const int first_cell = thread_index() / lanes, first_unit = thread_index() % lanes;
  if (first_cell >= cells) return;
  const char* const from = static_cast<const char*>(piece.from);
  char* const to = static_cast<char*>(piece.to);
  for (int unit = first_unit; unit < units; unit += lanes * (cells > 1 ? 1 : kAtOnce))
    for (int cell = first_cell; cell < piece.cells; cell += cells * (cells > 1 ? kAtOnce : 1)) {
      Unit loaded[kAtOnce];
      SPSCOPE_EACH (i, kAtOnce) {
        const int c = cells > 1 ? cell + i * cells : cell, u = cells > 1 ? unit : unit + i * lanes;
        if (c < piece.cells && u < units)
          loaded[i] = load_global(reinterpret_cast<const Unit*>(from + c * piece.from_stride_bytes) + u);
      }
      SPSCOPE_EACH (i, kAtOnce) {
        const int c = cells > 1 ? cell + i * cells : cell, u = cells > 1 ? unit : unit + i * lanes;
        if (c < piece.cells && u < units)
          store_global(reinterpret_cast<Unit*>(to + c * piece.to_stride_bytes) + u, loaded[i]);
      }
    }
}

SPSCOPE_DEVICE void copy_cells(const Copy& launch) {
  const CopyPiece piece = load_global(launch.pieces + block_index());
  // Addresses and steps together say what the largest aligned unit is.
  const std::uint64_t together =
      reinterpret_cast<std::uint64_t>(piece.from) | reinterpret_cast<std::uint64_t>(piece.to) |
      static_cast<std::uint64_t>(piece.from_stride_bytes | piece.to_stride_bytes | piece.cell_bytes);
  if (together % 16 == 0)
    copy_units<Bytes16>(piece);
  else if (together % 4 == 0)
    copy_units<std::uint32_t>(piece);
  else
    copy_units<std::uint16_t>(piece);
}

}  // namespace spscope::kernels::cuda
