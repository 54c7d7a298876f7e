// What the CUDA kernels take: one plain struct each, by value. The host, nvcc and g++ (emulation) all read this file.
//
// A launch covers one op of a rank: an array of independent pieces in device memory, one thread block each. Pieces are
// cut by the host so that blocks have about equal work, and blocks start in the order of the array, so the longest
// pieces come first; pieces of equal length keep the order of heads, for the second-level cache.
//
// Rows are as in kernels/attention.h: unfinished rows are (out, max, sum) in natural units and fp32, and a row without
// keys is (0, -inf, 0). Strides count elements of the type pointed to, if not said otherwise.
//
// Alignment: data is aligned to one element. Where head_dim is a multiple of 8, rows of q, k, v, out and finished begin
// at multiples of 16 bytes. Different pieces of a launch write different bytes.
#pragma once

#include <cstdint>

namespace spscope::kernels::cuda {

// A stretch of keys of one head, sequence and batch entry: rows of k, and of v, head_dim elements at k + i * stride.
struct AttendKeys {
  const void* k;
  const void* v;
  std::int64_t stride;
  std::int32_t rows;  // 1 .. kMaxBlockRows
  std::int32_t unused;
};

// Rows of one q stretch and the stretches of keys that they meet, each once. out, row_max and row_sum are the
// unfinished rows; with `finished` this launch is the only one that its rows are in, and leaves their results there in
// the dtype of q, without touching out, row_max and row_sum, which may be nullptr.
struct AttendRows {
  const void* q;
  float* out;
  float* row_max;
  float* row_sum;
  void* finished;
  std::int64_t q_stride, out_stride, finished_stride;
  std::int64_t first_key;   // of its head, sequence and batch entry, in `keys`
  std::int64_t tile_begin;  // in `tiles`
  std::int32_t num_tiles;
  std::int32_t rows;  // 1 .. rows_per_block of the kernel (select.h)
  std::int32_t
      fresh;  // 1: the rows have met no key yet, so that the state is written and not read. Set with `finished`.
  std::int32_t unused;
};

// Folds keys into rows. Rows without tiles become (0, -inf, 0), or finished zeros, when they are fresh, and stay as
// they are, bit by bit, when they are not.
struct Attend {
  const AttendRows* rows;
  const AttendKeys* keys;
  const std::int32_t* tiles;  // stretches as indices into keys + first_key
  std::int32_t num_rows;      // pieces: the grid
  std::int32_t head_dim;      // 1 .. kMaxHeadDim
  float scale;                // of the scores; positive
  std::int32_t unused;
};

// Unfinished rows at out + i * out_stride, row_max + i * statistic_stride, row_sum + i * statistic_stride.
struct UnfinishedRows {
  float* out;
  float* row_max;
  float* row_sum;
  std::int64_t out_stride, statistic_stride;
};

// One launch over pieces of rows.
template <typename Piece>
struct RowPieces {
  const Piece* pieces;
  std::int32_t num_pieces, head_dim;
};

// into = the rows over the keys of both.
struct MergePiece {
  UnfinishedRows from, into;
  std::int32_t rows;  // kRowsOfPiece at most, for even work; as in the pieces below
  std::int32_t unused;
};
using Merge = RowPieces<MergePiece>;

// finished = out / sum; zeros for a row without keys. The kernel's name says the dtype.
struct FinishPiece {
  UnfinishedRows from;
  void* finished;
  std::int64_t finished_stride;
  std::int32_t rows;
  std::int32_t unused;
};
using Finish = RowPieces<FinishPiece>;

// Rows become (0, -inf, 0).
struct ClearPiece {
  UnfinishedRows into;
  std::int32_t rows;
  std::int32_t unused;
};
using Clear = RowPieces<ClearPiece>;

// `cells` cells of `cell_bytes` bytes from one place to another: copies, packing and unpacking. Strides in bytes. Cells
// that lie next to each other on both sides are better one cell of all their bytes.
struct CopyPiece {
  const void* from;
  void* to;
  std::int64_t from_stride_bytes, to_stride_bytes;
  std::int64_t cell_bytes;
  std::int32_t cells;
  std::int32_t unused;
};
struct Copy {
  const CopyPiece* pieces;
  std::int32_t num_pieces, unused;
};

// Multiprocessors that blocks of a launch hold until the host writes to `release`. All of it is memory of the host.
// Each block writes the number of its multiprocessor, from 1, to its place, and kHoldGaveUp once the limit has passed.
struct Hold {
  const std::uint32_t* release;
  std::uint32_t* places;
  std::int64_t limit_ns;
};
inline constexpr std::uint32_t kHoldGaveUp = 0xffffffff;
inline constexpr int kHoldThreads = 32;

// How much one piece should hold, for blocks of even work.
inline constexpr std::int32_t kRowsOfPiece = 64;
inline constexpr std::int64_t kBytesOfPiece = 64 << 10;

}  // namespace spscope::kernels::cuda
