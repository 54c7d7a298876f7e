// The attention kernels on the emulation against double precision, and that each barrier, each wait and the swizzle of
// the kernel on tensor cores is needed: without it the emulation reports or the result is wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "kernels/cuda/attend_mma.cuh"
#include "kernels/cuda/emulation/block.h"
#include "tests/unit/kernels_cuda/attend_problem.h"

namespace spscope::kernels::cuda {
namespace {

// bf16 products are exact in fp32. Weights are rounded to bf16, a relative error of up to 2^-9 and so an NMSE of about
// 2^-18, and results once more where they are finished. On fp32 there is only the rounding of sums.
constexpr double kMaxNmseBf16 = 2 * 0x1p-18, kMaxNmseFp32 = 1e-10;

AttendProblem::Outcome run(const ProblemShape& shape, int compute_capability = 80) {
  AttendProblem problem(shape);
  const std::int32_t longest = *std::ranges::max_element(shape.q_rows);
  const AttendChoice choice = choose_attend(shape.dtype, shape.head_dim, longest, compute_capability);
  const EmulatedKernel* const kernel = find_emulated_kernel(choice.kernel.name);
  if (kernel == nullptr) return {1, "no kernel " + choice.kernel.name};
  problem.run(choice, *kernel);
  return problem.compare();
}

void expect_reference(const ProblemShape& shape, int compute_capability = 80) {
  SCOPED_TRACE("seed " + std::to_string(shape.seed) + ", head_dim " + std::to_string(shape.head_dim));
  const AttendProblem::Outcome outcome = run(shape, compute_capability);
  EXPECT_LE(outcome.nmse, shape.dtype == Dtype::kFp32 ? kMaxNmseFp32 : kMaxNmseBf16);
  EXPECT_EQ(outcome.wrong, "");
}

// Stretches of one block size, the last one shorter, as a mask cuts tokens; about `rows` rows.
std::vector<std::int32_t> stretches(Rng& rng, std::int64_t rows) {
  const auto block =
      static_cast<std::int32_t>(rng.uniform() < 0.4 ? std::int64_t{64} << rng.below(3) : 1 + rng.below(384));
  std::vector<std::int32_t> cut;
  for (std::int64_t left = 1 + rng.below(rows); left > 0; left -= block)
    cut.push_back(static_cast<std::int32_t>(std::min<std::int64_t>(left, block)));
  return cut;
}

ProblemShape random_shape(std::uint64_t seed) {
  Rng rng(seed, 17);
  const int usual[] = {64, 128, 64, 128, 72, 96, 40, 256};
  ProblemShape shape{.seed = seed};
  shape.head_dim = static_cast<int>(rng.uniform() < 0.5 ? usual[rng.below(8)] : 5 + rng.below(252));
  shape.heads = static_cast<int>(1 + rng.below(3));
  shape.sequences = static_cast<int>(1 + rng.below(2));
  shape.density = std::vector<double>{0.1, 0.5, 0.8, 1}[static_cast<std::size_t>(rng.below(4))];
  shape.interleaved = rng.uniform() < 0.5;
  shape.fresh = rng.uniform() < 0.7;
  shape.finished = shape.fresh && rng.uniform() < 0.5;
  // One shape in eight is large.
  const std::int64_t rows = rng.below(8) == 0 ? 400 : 1 + rng.below(150);
  shape.q_rows = stretches(rng, rows);
  shape.k_rows = stretches(rng, rows);
  return shape;
}

// 100 shapes in the default set, and 400 others in the wide one.
TEST(CudaAttend, EqualsReferenceOnRandomShapes) {
  const bool wide = std::getenv("SPSCOPE_WIDE") != nullptr;
  const std::uint64_t first = wide ? 101u : 1u, last = wide ? 500u : 100u;
  for (std::uint64_t seed = first; seed <= last; ++seed) expect_reference(random_shape(seed));
}

// Without tensor cores for the dtype: fp32, and bf16 on processors before sm_80.
TEST(CudaAttend, PlainEqualsReferenceOnRandomShapes) {
  for (std::uint64_t seed = 1001; seed <= 1015; ++seed) {
    ProblemShape shape = random_shape(seed);
    if (seed % 3 != 0) shape.dtype = Dtype::kFp32;
    if (seed % 5 == 0) shape.head_dim = static_cast<int>(1 + seed % 4);
    expect_reference(shape, 75);
  }
}

// The longest ones, and more of them than are looked up at once.
TEST(CudaAttend, EqualsReferenceOnLongAndOnManyStretches) {
  for (const int head_dim : {20, 64, 128}) {
    expect_reference({.head_dim = head_dim,
                      .heads = 2,
                      .q_rows = {384, 7},
                      .k_rows = {384, 1, 300},
                      .density = 0.7,
                      .interleaved = true,
                      .fresh = false});
    expect_reference(
        {.head_dim = head_dim, .q_rows = {128}, .k_rows = std::vector<std::int32_t>(90, 5), .density = 0.8});
  }
}

// Head dims that fill their kernel, whole tiles, all rows: what should be fast touches each bank of shared memory once.
TEST(CudaAttend, HasNoBankConflicts) {
  for (const int head_dim : {32, 64, 96, 128, 192, 256})
    for (const std::int32_t rows : {64, 128})
      for (const bool finished : {false, true}) {
        take_bank_conflicts();
        expect_reference({.head_dim = head_dim, .q_rows = {rows}, .k_rows = {64, 64, 128}, .finished = finished});
        EXPECT_EQ(take_bank_conflicts(), 0) << head_dim << ", " << rows << " rows";
      }
}

// -- planted defects

template <class Shape>
EmulatedKernel kernel_of() {
  return {"planted", Shape::kThreads, sizeof(Attend),
          [](void** arguments) { attend_mma<Shape>(*static_cast<const Attend*>(arguments[0])); }};
}

// "" when the kernel passes, else how it was found out.
template <class Shape>
std::string found_out() {
  AttendProblem problem({.head_dim = Shape::kDim, .q_rows = {Shape::kRows}, .k_rows = {64, 64, 40}, .finished = true});
  take_bank_conflicts();
  try {
    problem.run({{"", Shape::kThreads, Shape::kSharedBytes}, Shape::kRows}, kernel_of<Shape>());
  } catch (const EmulationFault& fault) {
    return fault.what();
  }
  if (!(problem.compare().nmse <= kMaxNmseBf16)) return "wrong result";
  if (take_bank_conflicts() > 0) return "bank conflicts";
  return "";
}

class Planted : public ::testing::Test {
 protected:
  PlantedDefect& defect() { return EmulatedBlock::current().defect; }
  void TearDown() override { defect() = {}; }

  // Each of the first `calls` calls is needed, and none beyond them is made.
  template <class Shape>
  void expect_each_needed(int PlantedDefect::*call, int calls) {
    for (int i = 0; i < calls; ++i) {
      defect().*call = i;
      EXPECT_NE(found_out<Shape>(), "") << "call " << i << " of " << calls;
    }
    defect().*call = calls;
    EXPECT_EQ(found_out<Shape>(), "");
    defect() = {};
  }
};

// Three tiles of keys and three of values, and one barrier after stretches were looked up.
TEST_F(Planted, EachBarrierIsNeeded) {
  expect_each_needed<AttendShape<128, 64, 3>>(&PlantedDefect::skip_sync_block, 7);
  expect_each_needed<AttendShape<64, 64, 2>>(&PlantedDefect::skip_sync_block, 7);
}

TEST_F(Planted, EachWaitForCopiesIsNeeded) {
  expect_each_needed<AttendShape<128, 64, 3>>(&PlantedDefect::skip_copy_wait, 6);
  expect_each_needed<AttendShape<64, 64, 2>>(&PlantedDefect::skip_copy_wait, 6);
}

// Rows of 128 bytes without a swizzle: eight rows of a matrix share banks.
struct NotSwizzled : AttendShape<64, 64, 2> {
  static constexpr int swizzle(int) { return 0; }
  static constexpr int offset(int row, int chunk) { return row * kRowBytes + chunk * 16; }
};
// A swizzle that changes within the steps of 16 rows in which tiles are walked.
struct WronglySwizzled : AttendShape<64, 64, 2> {
  static constexpr int swizzle(int row) { return row / 8 % 8; }
  static constexpr int offset(int row, int chunk) { return row * kRowBytes + (chunk ^ swizzle(row)) * 16; }
};
TEST_F(Planted, WrongSwizzlesAreFound) {
  EXPECT_EQ((found_out<AttendShape<64, 64, 2>>()), "");
  EXPECT_EQ(found_out<NotSwizzled>(), "bank conflicts");
  EXPECT_NE(found_out<WronglySwizzled>(), "");
}

}  // namespace
}  // namespace spscope::kernels::cuda
