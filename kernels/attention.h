// Block-sparse attention of one head on one core, with online softmax. A call folds tiles (active pairs of a q block
// and a k block) into unfinished rows. Unfinished rows may accumulate their keys over any number of calls, may be sent
// between ranks and merged, and are divided by their sum once, at the end.
//
// An unfinished row is the triple (out, max, sum) over the keys folded in so far, with s = scale * (q . k):
//   max = largest s,  sum = sum of exp(s - max),  out = sum of exp(s - max) * v   (all fp32)
// Scores and maxima are in natural units (not base 2) everywhere, so that rows of different ranks can be merged.
// A row without keys is (0, -inf, 0); every function here accepts and returns such rows without making a NaN.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "backend/base/dtype.h"

namespace spscope::kernels {

inline constexpr int kMaxHeadDim = 256;
inline constexpr int kMaxBlockRows = 384;

// Rows of one block of Q, K or V: row i is `head_dim` contiguous elements at data + i * stride elements; the element
// type is the task's dtype, and data is aligned to one element.
struct RowBlock {
  const void* data = nullptr;
  std::int32_t rows = 0;
  std::int64_t stride = 0;
};

// Destination of finished rows; laid out as a RowBlock.
struct OutputBlock {
  void* data = nullptr;
  std::int32_t rows = 0;
  std::int64_t stride = 0;
};

// Unfinished rows of one q block: row i of `out` is head_dim floats at out + i * out_stride; row_max and row_sum are
// one float a row.
struct RowState {
  float* out = nullptr;
  float* row_max = nullptr;
  float* row_sum = nullptr;
  std::int64_t out_stride = 0;
};

// Tiles of one head of one sequence. `state` belongs to `q` and `v` to `k`, index by index, with equal rows.
struct AttentionTask {
  Dtype dtype = Dtype::kFp32;
  int head_dim = 0;  // 1 .. kMaxHeadDim
  float scale = 1;   // softmax scale, usually 1 / sqrt(head_dim)
  std::span<const RowBlock> q;
  std::span<const RowState> state;
  std::span<const RowBlock> k;
  std::span<const RowBlock> v;
  std::span<const std::int32_t> row_begin;  // q.size() + 1 offsets into k_block
  std::span<const std::int32_t> k_block;    // per q block its active k blocks, ascending, none twice
};

struct AttentionScratch;

// Scratch memory of `attend`, reused from call to call; one for each thread. It grows to the need of the largest task
// (about 4.25 MiB) and never shrinks.
class AttentionWorkspace {
 public:
  AttentionWorkspace();
  ~AttentionWorkspace();
  AttentionWorkspace(AttentionWorkspace&&) noexcept;
  AttentionWorkspace& operator=(AttentionWorkspace&&) noexcept;

  AttentionScratch& scratch() { return *scratch_; }
  std::int64_t num_bytes() const;

 private:
  std::unique_ptr<AttentionScratch> scratch_;
};

// Folds all tiles of the task into its states; rows of q blocks without tiles are unchanged, bit by bit. The last bits
// of the result depend on the processor's vector width, never on the other q blocks of the call. REQUIRES: blocks of 1
// .. kMaxBlockRows rows; finite inputs and scores.
void attend(const AttentionTask& task, AttentionWorkspace& workspace);

// Sets rows to those without keys: (0, -inf, 0).
void clear_rows(std::int32_t rows, int head_dim, const RowState& state);

// into = the rows over the keys of both. REQUIRES: `from` and `into` have no key in common.
void merge_rows(std::int32_t rows, int head_dim, const RowState& from, const RowState& into);

// output = out / sum in `dtype`; zeros for a row without keys.
void finish_rows(Dtype dtype, int head_dim, const RowState& state, const OutputBlock& output);

}  // namespace spscope::kernels
