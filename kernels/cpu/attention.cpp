// Block-sparse attention of one head on one core: the driver, compiled once for each instruction set and chosen at run
// time (Highway). Storage fp32 or bf16, arithmetic fp32 throughout.
//
// Notation: D head_dim, L lanes of a vector. q, k, v blocks [rows, D], strided; row states out [rows, D], max and sum
// [rows], fp32. The work is cut three times:
//   span   k blocks that some tile has, packed together (pack.inc) until they fill kSpanBytes; every q block folds in
//          its tiles of the span before the next span is packed, so scratch does not grow with the sequence;
//   strip  up to kStripRows rows of a q block: queries times scale in fp32, outputs loaded from the state and stored
//   back; chunk  as many tiles of the row as have kChunkColumns keys together: scores, one softmax pass, weighted
//   values.
// Inside a chunk the products run on register tiles (register_tiles.inc), a panel of K or V against all rows of the
// strip, so that the panel is read from the first-level cache.
//
// Online softmax, exact: a chunk whose largest score exceeds the row's maximum so far rescales out and sum by
// exp(old max - new max); the factor of out is applied when a register tile loads it. Work per q block and span is one
// look at its next tile; all else is proportional to the tiles. Packing is proportional to the k blocks in use.
// Reference: kernels/reference.h; measured error in tests/unit/kernels.
#include "kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>

#include "backend/base/check.h"
#include "kernels/calibrate.h"
#include "kernels/cpu/attention_scratch.h"
#include "kernels/exponential.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace spscope::kernels::HWY_NAMESPACE {

#include "kernels/cpu/vectors.inc"

#include "kernels/cpu/pack.inc"

#include "kernels/cpu/register_tiles.inc"

#include "kernels/cpu/softmax.inc"

// Rows first_row .. first_row + rows of one q block, with their state.
struct Strip {
  const RowBlock* q;
  const RowState* state;
  int first_row;
  int rows;
};

void load_strip(const AttentionTask& task, const Strip& strip, AttentionScratch& scratch) {
  const int padded = round_up(task.head_dim, static_cast<int>(hn::Lanes(Floats())));
  for (int r = 0; r < strip.rows; ++r) {
    const int row = strip.first_row + r;
    const float* query = row_as_floats(task.dtype, *strip.q, row, task.head_dim, scratch.row.data());
    float* scaled = scratch.queries.data() + r * kRowStride;
    for (int i = 0; i < task.head_dim; ++i) scaled[i] = query[i] * task.scale;
    float* out = scratch.out.data() + r * kRowStride;
    std::copy_n(strip.state->out + row * strip.state->out_stride, task.head_dim, out);
    std::fill(out + task.head_dim, out + padded, 0.0f);
  }
}

void store_strip(const AttentionTask& task, const Strip& strip, AttentionScratch& scratch) {
  for (int r = 0; r < strip.rows; ++r) {
    const std::int64_t row = strip.first_row + r;
    std::copy_n(scratch.out.data() + r * kRowStride, task.head_dim, strip.state->out + row * strip.state->out_stride);
  }
}

// Fills scratch.parts with tiles from the front of `k_blocks`; returns how many it took (at least one).
std::size_t gather_chunk(const AttentionTask& task, std::span<const std::int32_t> k_blocks, AttentionScratch& scratch) {
  const int lanes = static_cast<int>(hn::Lanes(Floats()));
  scratch.parts.clear();
  int column = 0;
  for (const std::int32_t k_block : k_blocks) {
    const int num_keys = task.k[k_block].rows;
    if (column > 0 && column + round_up(num_keys, lanes) > kChunkColumns) break;
    scratch.parts.push_back({scratch.keys.data() + scratch.key_offset[k_block],
                             scratch.values.data() + scratch.value_offset[k_block], num_keys, column});
    column += round_up(num_keys, lanes);
  }
  return scratch.parts.size();
}

void attend_strip(const AttentionTask& task, const Strip& strip, std::span<const std::int32_t> k_blocks,
                  AttentionScratch& scratch) {
  load_strip(task, strip, scratch);
  float* scores = scratch.scores.data();
  float rescale[kStripRows];
  while (!k_blocks.empty()) {
    k_blocks = k_blocks.subspan(gather_chunk(task, k_blocks, scratch));
    for (const ChunkPart& part : scratch.parts) {
      score_block(scratch.queries.data(), strip.rows, part.keys, part.num_keys, task.head_dim, scores + part.column);
    }
    softmax_strip(strip.rows, scratch.parts, scores, strip.state->row_max + strip.first_row,
                  strip.state->row_sum + strip.first_row, rescale);
    add_values(scores, strip.rows, scratch.parts, task.head_dim, rescale, scratch.out.data());
  }
  store_strip(task, strip, scratch);
}

// Packs the k blocks in use from `begin` on until the span is full; returns the end of the span.
int pack_span(const AttentionTask& task, int begin, AttentionScratch& scratch) {
  const int lanes = static_cast<int>(hn::Lanes(Floats()));
  const int num_k = static_cast<int>(task.k.size());
  std::int64_t key_floats = 0, value_floats = 0;
  int end = begin;
  for (; end < num_k; ++end) {
    if (!scratch.used[end]) continue;
    const int rows = task.k[end].rows;
    const std::int64_t block_floats =
        std::int64_t{round_up(rows, lanes)} * task.head_dim + std::int64_t{rows} * round_up(task.head_dim, lanes);
    const std::int64_t span_floats = key_floats + value_floats + block_floats;
    if (key_floats > 0 && span_floats * std::int64_t{sizeof(float)} > kSpanBytes) break;
    scratch.key_offset[end] = key_floats;
    scratch.value_offset[end] = value_floats;
    // Offsets stay multiples of a vector, so packed vectors are aligned.
    key_floats += std::int64_t{round_up(rows, lanes)} * task.head_dim;
    value_floats += std::int64_t{rows} * round_up(task.head_dim, lanes);
  }
  float* keys = scratch.keys.reserve(key_floats);
  float* values = scratch.values.reserve(value_floats);
  for (int k_block = begin; k_block < end; ++k_block) {
    if (!scratch.used[k_block]) continue;
    pack_keys(task.dtype, task.head_dim, task.k[k_block], scratch.row.data(), keys + scratch.key_offset[k_block]);
    pack_values(task.dtype, task.head_dim, task.v[k_block], scratch.row.data(), values + scratch.value_offset[k_block]);
  }
  return end;
}

// Folds the tiles of one q block with k blocks before `span_end` into its state.
void attend_q_block(const AttentionTask& task, std::size_t q_block, int span_end, AttentionScratch& scratch) {
  const std::int32_t begin = scratch.next_tile[q_block];
  std::int32_t end = begin;
  while (end < task.row_begin[q_block + 1] && task.k_block[end] < span_end) ++end;
  if (begin == end) return;
  scratch.next_tile[q_block] = end;
  const int rows = task.q[q_block].rows;
  for (int row = 0; row < rows; row += kStripRows) {
    const Strip strip{&task.q[q_block], &task.state[q_block], row, std::min(kStripRows, rows - row)};
    attend_strip(task, strip, task.k_block.subspan(begin, end - begin), scratch);
  }
}

void attend_task(const AttentionTask& task, AttentionScratch& scratch) {
  static_assert(kStripRows * kRowStride * sizeof(float) < (1u << 20), "a strip must fit the second-level cache");
  scratch.queries.reserve(kStripRows * kRowStride);
  scratch.out.reserve(kStripRows * kRowStride);
  scratch.scores.reserve(kStripRows * kScoreStride);
  scratch.row.reserve(kRowStride);
  SPSCOPE_CHECK(hn::Lanes(Floats()) <= 64);
  const int num_k = static_cast<int>(task.k.size());
  for (int begin = 0; begin < num_k;) {
    const int end = pack_span(task, begin, scratch);
    for (std::size_t q_block = 0; q_block < task.q.size(); ++q_block) attend_q_block(task, q_block, end, scratch);
    begin = end;
  }
}

void exp_nonpositive_array(const float* x, float* out, std::size_t count) {
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(exp_nonpositive_vector(d, hn::LoadU(d, x + i)), d, out + i);
  for (; i < count; ++i) out[i] = hn::GetLane(exp_nonpositive_vector(d, hn::Set(d, x[i])));
}

}  // namespace spscope::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace spscope::kernels {

HWY_EXPORT(attend_task);
HWY_EXPORT(exp_nonpositive_array);

namespace {

// Marks the k blocks in use and sets the places of `scratch` that are indexed by block.
void start_task(const AttentionTask& task, AttentionScratch& scratch) {
  const std::size_t num_q = task.q.size(), num_k = task.k.size();
  SPSCOPE_CHECK(task.head_dim >= 1 && task.head_dim <= kMaxHeadDim);
  SPSCOPE_CHECK(task.state.size() == num_q && task.v.size() == num_k && task.row_begin.size() == num_q + 1);
  scratch.used.assign(num_k, 0);
  scratch.key_offset.resize(num_k);
  scratch.value_offset.resize(num_k);
  scratch.next_tile.assign(task.row_begin.begin(), task.row_begin.end() - 1);
  for (std::size_t q_block = 0; q_block < num_q; ++q_block) {
    SPSCOPE_CHECK(task.q[q_block].rows >= 1 && task.q[q_block].rows <= kMaxBlockRows);
    std::int32_t previous = -1;
    for (std::int32_t i = task.row_begin[q_block]; i < task.row_begin[q_block + 1]; ++i) {
      const std::int32_t k_block = task.k_block[i];
      SPSCOPE_CHECK(k_block > previous && k_block < static_cast<std::int32_t>(num_k));
      scratch.used[k_block] = 1;
      previous = k_block;
    }
  }
  for (std::size_t k_block = 0; k_block < num_k; ++k_block) {
    SPSCOPE_CHECK(!scratch.used[k_block] || (task.k[k_block].rows >= 1 && task.k[k_block].rows <= kMaxBlockRows &&
                                             task.v[k_block].rows == task.k[k_block].rows));
  }
}

}  // namespace

AttentionWorkspace::AttentionWorkspace() : scratch_(std::make_unique<AttentionScratch>()) {}
AttentionWorkspace::~AttentionWorkspace() = default;
AttentionWorkspace::AttentionWorkspace(AttentionWorkspace&&) noexcept = default;
AttentionWorkspace& AttentionWorkspace::operator=(AttentionWorkspace&&) noexcept = default;

std::int64_t AttentionWorkspace::num_bytes() const {
  const AttentionScratch& s = *scratch_;
  return s.keys.num_bytes() + s.values.num_bytes() + s.queries.num_bytes() + s.out.num_bytes() + s.scores.num_bytes() +
         s.row.num_bytes();
}

void attend(const AttentionTask& task, AttentionWorkspace& workspace) {
  start_task(task, workspace.scratch());
  HWY_DYNAMIC_DISPATCH(attend_task)(task, workspace.scratch());
}

void exp_nonpositive(std::span<const float> x, std::span<float> out) {
  SPSCOPE_CHECK(x.size() == out.size());
  HWY_DYNAMIC_DISPATCH(exp_nonpositive_array)(x.data(), out.data(), x.size());
}

}  // namespace spscope::kernels
#endif  // HWY_ONCE
