// The attention kernel against the double-precision reference, on every instruction set that this processor has.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tests/unit/kernels/attention_case.h"
#include "tests/unit/kernels/target_fixture.h"

namespace spscope::kernels {
namespace {

class Attention : public EachTarget {};
INSTANTIATE_TEST_SUITE_P(Targets, Attention, ::testing::ValuesIn(supported_targets()), target_of);

// Folds all tiles of the case in one call and compares rows, maxima, sums and guards with the reference.
void expect_equals_reference(const CaseShape& shape, const std::string& what) {
  SCOPED_TRACE(what);
  const AttentionCase attention(shape);
  const CaseStates states = attention.fresh_states(5);
  AttentionWorkspace workspace;
  attend(attention.task(states), workspace);
  const ReferenceRows expected = reference_attention(attention.task(states));
  EXPECT_LE(nmse(states.finished(), expected.out), kMaxNmse);
  EXPECT_TRUE(states.guards_intact());
  for (std::int64_t row = 0; row < states.num_rows(); ++row) {
    if (expected.row_sum[row] == 0) {
      EXPECT_EQ(states.row_max(row), -std::numeric_limits<float>::infinity()) << row;
      EXPECT_EQ(states.row_sum(row), 0.0f) << row;
    } else {
      EXPECT_NEAR(states.row_max(row), expected.row_max[row], 1e-4) << row;
      EXPECT_NEAR(states.row_sum(row), expected.row_sum[row], 1e-4 * expected.row_sum[row]) << row;
    }
  }
}

TEST_P(Attention, EqualsReferenceForHeadDimsAndBlocks) {
  for (const Dtype dtype : {Dtype::kFp32, Dtype::kBf16}) {
    for (const int head_dim : {1, 3, 8, 16, 72, 128}) {
      for (const std::int32_t block : {1, 7, 16, 64, 100, 384}) {
        CaseShape shape{.dtype = dtype, .head_dim = head_dim};
        shape.q_rows = {block, (block + 2) / 3};
        shape.k_rows = {block, (block + 2) / 3};
        // Enough small blocks for several chunks.
        if (block < 100) shape.k_rows.insert(shape.k_rows.end(), 5, block);
        expect_equals_reference(shape, std::string(dtype_name(dtype)) + " head_dim " + std::to_string(head_dim) +
                                           " block " + std::to_string(block));
      }
    }
  }
}

TEST_P(Attention, EqualsReferenceForSparseEmptyAndStridedRows) {
  for (const Dtype dtype : {Dtype::kFp32, Dtype::kBf16})
    for (const double density : {0.0, 0.1, 0.4, 0.8})
      for (const std::int64_t row_padding : {1, 3, 13, 128}) {
        CaseShape shape{.dtype = dtype,
                        .head_dim = 24,
                        .density = density,
                        .row_padding = row_padding,
                        .seed = static_cast<std::uint64_t>(row_padding)};
        shape.q_rows = {5, 16, 1, 33, 16, 70};
        shape.k_rows = {16, 3, 40, 16, 16, 1, 16, 90, 16, 11, 130, 16};
        expect_equals_reference(shape,
                                "density " + std::to_string(density) + " padding " + std::to_string(row_padding));
      }
}

// More packed keys than fit one span, so that rows carry their state from span to span.
TEST_P(Attention, EqualsReferenceAcrossSpans) {
  CaseShape shape{.head_dim = 256, .density = 0.7};
  shape.q_rows = {3, 2};
  shape.k_rows.assign(13, 384);
  expect_equals_reference(shape, "13 blocks of 384 keys");
}

TEST_P(Attention, LargeScoresDoNotOverflow) {
  for (const double spread : {1e2, 1e3}) {
    CaseShape shape{.head_dim = 32, .score_spread = spread};
    shape.q_rows = {24};
    shape.k_rows.assign(40, 16);
    const AttentionCase attention(shape);
    const CaseStates states = attention.fresh_states();
    AttentionWorkspace workspace;
    attend(attention.task(states), workspace);
    // A score of size s carries the rounding s * 2^-24 * sqrt(head_dim), which the weights repeat as a relative error.
    const double relative_error = spread * 4 * std::sqrt(32.0) * 0x1p-24;
    const std::vector<double> expected = reference_attention(attention.task(states)).out;
    EXPECT_LE(nmse(states.finished(), expected), relative_error * relative_error) << spread;
  }
}

TEST_P(Attention, RowsWithoutTilesStayAsTheyAre) {
  CaseShape shape{.head_dim = 8, .density = 0};
  shape.q_rows = {4, 9};
  const AttentionCase attention(shape);
  const CaseStates states = attention.fresh_states();
  for (const RowState& state : states.blocks()) {
    state.out[0] = 0.125f;
    state.row_max[0] = 7;
    state.row_sum[0] = 3;
  }
  AttentionWorkspace workspace;
  attend(attention.task(states), workspace);
  for (const RowState& state : states.blocks()) {
    EXPECT_EQ(state.out[0], 0.125f);
    EXPECT_EQ(state.row_max[0], 7);
    EXPECT_EQ(state.row_sum[0], 3);
  }
}

// One problem whose keys are met in several calls, in ascending or descending order, or apart and merged.
class SplitKeys {
 public:
  SplitKeys() : attention_(shape()) {}

  const AttentionCase& attention() const { return attention_; }
  std::vector<double> expected() const {
    const CaseStates states = attention_.fresh_states();
    return reference_attention(attention_.task(states)).out;
  }
  // Folds the tiles whose k block is in [begin, end).
  void attend_part(std::int32_t begin, std::int32_t end, const CaseStates& states) {
    std::vector<std::int32_t> row_begin = {0}, k_block;
    for (std::size_t q_block = 0; q_block + 1 < attention_.row_begin().size(); ++q_block) {
      for (std::int32_t i = attention_.row_begin()[q_block]; i < attention_.row_begin()[q_block + 1]; ++i) {
        const std::int32_t block = attention_.k_block()[i];
        if (block >= begin && block < end) k_block.push_back(block);
      }
      row_begin.push_back(static_cast<std::int32_t>(k_block.size()));
    }
    AttentionTask task = attention_.task(states);
    task.row_begin = row_begin;
    task.k_block = k_block;
    attend(task, workspace_);
  }

 private:
  static CaseShape shape() {
    CaseShape shape{.head_dim = 20, .density = 0.5, .score_spread = 5, .seed = 3};
    shape.q_rows = {16, 40, 7};
    shape.k_rows = {16, 16, 16, 30, 16, 16, 5, 16, 16, 16};
    return shape;
  }
  AttentionCase attention_;
  AttentionWorkspace workspace_;
};

TEST_P(Attention, SeveralCallsEqualOne) {
  SplitKeys split;
  const CaseStates ascending = split.attention().fresh_states(), descending = split.attention().fresh_states();
  const std::int32_t cuts[] = {0, 3, 4, 8, 10};
  for (int part = 0; part < 4; ++part) split.attend_part(cuts[part], cuts[part + 1], ascending);
  for (std::int32_t begin = 9; begin >= 0; --begin) split.attend_part(begin, begin + 1, descending);
  EXPECT_LE(nmse(ascending.finished(), split.expected()), kMaxNmse);
  EXPECT_LE(nmse(descending.finished(), split.expected()), kMaxNmse);
}

TEST_P(Attention, MergedPartsEqualOneCall) {
  SplitKeys split;
  const CaseStates low = split.attention().fresh_states(), high = split.attention().fresh_states();
  split.attend_part(0, 4, low);
  split.attend_part(4, 10, high);
  for (std::size_t q_block = 0; q_block < low.blocks().size(); ++q_block) {
    merge_rows(split.attention().shape().q_rows[q_block], split.attention().shape().head_dim, low.blocks()[q_block],
               high.blocks()[q_block]);
  }
  EXPECT_LE(nmse(high.finished(), split.expected()), kMaxNmse);
}

TEST_P(Attention, ResultDoesNotDependOnTheOtherRowsOrTheWorkspace) {
  CaseShape shape{.head_dim = 48, .density = 0.5, .seed = 21};
  shape.q_rows.assign(6, 64);
  shape.k_rows.assign(9, 64);
  const AttentionCase attention(shape);
  const CaseStates together = attention.fresh_states(), alone = attention.fresh_states();
  AttentionWorkspace workspace;
  attend(attention.task(together), workspace);
  const AttentionTask whole = attention.task(alone);
  for (std::size_t q_block = 0; q_block < whole.q.size(); ++q_block) {
    AttentionTask one = whole;
    one.q = whole.q.subspan(q_block, 1);
    one.state = whole.state.subspan(q_block, 1);
    one.row_begin = whole.row_begin.subspan(q_block, 2);
    AttentionWorkspace fresh;
    attend(one, fresh);
  }
  EXPECT_EQ(together.finished(), alone.finished());
}

TEST_P(Attention, WorkspaceDoesNotGrowWithTheSequence) {
  AttentionWorkspace workspace;
  for (const int num_blocks : {65, 130}) {
    CaseShape shape{.head_dim = 128};
    shape.q_rows = {1};
    shape.k_rows.assign(num_blocks, 64);
    const AttentionCase attention(shape);
    const CaseStates states = attention.fresh_states();
    attend(attention.task(states), workspace);
    EXPECT_LE(workspace.num_bytes(), (std::int64_t{4} << 20) + (256 << 10)) << num_blocks;
  }
}

}  // namespace
}  // namespace spscope::kernels
