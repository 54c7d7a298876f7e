// The kernels of rows and cells on the emulation against those of the CPU, between guards.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "backend/base/rng.h"
#include "kernels/attention.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/select.h"
#include "tests/unit/kernels_cuda/device_array.h"

namespace spscope::kernels::cuda {
namespace {

template <typename Parameters>
void run(const KernelChoice& choice, std::int32_t pieces, Parameters parameters) {
  const EmulatedKernel* const kernel = find_emulated_kernel(choice.name);
  ASSERT_NE(kernel, nullptr) << choice.name;
  launch(*kernel, pieces, choice.threads, static_cast<std::size_t>(choice.shared_bytes), parameters);
}

// Unfinished rows, some without keys, whose statistics lie `step` floats apart.
struct Rows {
  Rows(int rows, int head_dim, int step, std::uint64_t seed)
      : head_dim(head_dim),
        step(step),
        out(numbers(rows * (head_dim + 3), seed)),
        row_max(numbers(rows * step, seed + 1)),
        row_sum(numbers(rows * step, seed + 2)) {
    for (int row = 0; row < rows; ++row) {
      row_sum.data()[row * step] = std::abs(row_sum.data()[row * step]) + 1;
      if (row % 3 != static_cast<int>(seed % 3)) continue;
      std::fill_n(out.data() + row * (head_dim + 3), head_dim, 0.0f);
      row_max.data()[row * step] = -std::numeric_limits<float>::infinity();
      row_sum.data()[row * step] = 0;
    }
  }
  static std::vector<float> numbers(int count, std::uint64_t seed) {
    Rng rng(seed);
    std::vector<float> list(static_cast<std::size_t>(count));
    for (float& x : list) x = static_cast<float>(4 * rng.uniform() - 2);
    return list;
  }
  UnfinishedRows place() { return {out.data(), row_max.data(), row_sum.data(), head_dim + 3, step}; }
  RowState row(int i) {
    return {out.data() + i * (head_dim + 3), row_max.data() + i * step, row_sum.data() + i * step, 1};
  }

  int head_dim, step;
  DeviceArray<float> out, row_max, row_sum;
};

void expect_near(const std::vector<float>& actual, const std::vector<float>& expected) {
  for (std::size_t i = 0; i < actual.size(); ++i)
    if (actual[i] != expected[i]) {  // infinities are equal
      ASSERT_NEAR(actual[i], expected[i], 1e-6) << i;
    }
}
void expect_equal(const Rows& actual, const Rows& expected) {
  expect_near(actual.out.values(), expected.out.values());
  expect_near(actual.row_max.values(), expected.row_max.values());
  expect_near(actual.row_sum.values(), expected.row_sum.values());
}

TEST(CudaRows, MergeEqualsTheCpus) {
  for (const int head_dim : {1, 40, 128})
    for (const int step : {1, 5}) {
      Rows from(21, head_dim, 1, 3), into(21, head_dim, step, 7), expected(21, head_dim, step, 7);
      for (int i = 0; i < 21; ++i) kernels::merge_rows(1, head_dim, from.row(i), expected.row(i));
      DeviceArray<MergePiece> pieces(std::vector<MergePiece>{{from.place(), into.place(), 21, 0}});
      run(choose_merge(), 1, Merge{pieces.data(), 1, head_dim});
      expect_equal(into, expected);
    }
}

TEST(CudaRows, ClearLeavesRowsWithoutKeys) {
  Rows rows(10, 24, 2, 1), expected(10, 24, 2, 1);
  for (int i = 0; i < 10; ++i) kernels::clear_rows(1, 24, expected.row(i));
  DeviceArray<ClearPiece> pieces(std::vector<ClearPiece>{{rows.place(), 10, 0}});
  run(choose_clear(), 1, Clear{pieces.data(), 1, 24});
  expect_equal(rows, expected);
}

TEST(CudaRows, FinishEqualsTheCpus) {
  for (const Dtype dtype : {Dtype::kFp32, Dtype::kBf16}) {
    constexpr int kRows = 19, kDim = 45, kStride = 50;
    Rows rows(kRows, kDim, 1, 2);
    DeviceArray<std::byte> finished(std::size_t{kRows * kStride * 4}, std::byte{0x5a});
    std::vector<std::byte> expected = finished.values();
    for (int i = 0; i < kRows; ++i)
      kernels::finish_rows(dtype, kDim, rows.row(i), {expected.data() + i * kStride * dtype_bytes(dtype), 1, kStride});
    DeviceArray<FinishPiece> pieces(std::vector<FinishPiece>{{rows.place(), finished.data(), kStride, kRows, 0}});
    run(choose_finish(dtype), 1, Finish{pieces.data(), 1, kDim});
    EXPECT_EQ(finished.values(), expected);
  }
}

TEST(CudaRows, CopiesMoveCellsOfEverySizeAndAlignment) {
  struct Cells {
    std::int64_t cell_bytes, from_stride, to_stride, offset;
    int cells;
  };
  const Cells cases[] = {{256, 256, 1024, 0, 37}, {2, 6, 2, 2, 500},    {10, 30, 10, 4, 77},
                         {4, 4, 20, 8, 300},      {48, 64, 48, 16, 41}, {16384, 16384, 16384, 0, 3},
                         {8200, 8208, 8204, 8, 2}};
  for (const Cells& c : cases) {
    const auto size = static_cast<std::size_t>(std::max(c.from_stride, c.to_stride) * c.cells + 32);
    DeviceArray<std::byte> from(size, std::byte{0}), to(size, std::byte{0xee});
    Rng rng(5);
    for (std::byte& b : from.values()) b = static_cast<std::byte>(rng.below(256));
    std::vector<std::byte> expected = to.values();
    for (int i = 0; i < c.cells; ++i)
      std::memcpy(expected.data() + i * c.to_stride, from.data() + c.offset + i * c.from_stride, c.cell_bytes);
    DeviceArray<CopyPiece> pieces(
        {{from.data() + c.offset, to.data(), c.from_stride, c.to_stride, c.cell_bytes, c.cells, 0}});
    run(choose_copy(), 1, Copy{pieces.data(), 1, 0});
    EXPECT_EQ(to.values() == expected, true) << c.cell_bytes;
  }
}

}  // namespace
}  // namespace spscope::kernels::cuda
