// Matrix products against sums in double precision, on awkward sizes, strides and sums of several products; and the way
// between cells and rows.
#include "kernels/gemm.h"

#include <gtest/gtest.h>

#include <cmath>

#include "backend/base/rng.h"

namespace spscope::kernels {
namespace {

// A matrix with gaps between its rows, in fp32 and in bf16; the gaps hold NaN.
struct Matrix {
  Matrix(std::int64_t rows, std::int64_t columns, std::int64_t stride, Dtype dtype, std::uint64_t seed)
      : stride(stride), dtype(dtype), fp32(static_cast<std::size_t>(rows * stride), std::nanf("")), bf16(fp32.size()) {
    Rng rng(seed);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < columns; ++c) {
        const auto at = static_cast<std::size_t>(r * stride + c);
        const Bf16 rounded = to_bf16(static_cast<float>(rng.normal()));
        bf16[at] = rounded;
        fp32[at] = to_float(rounded);
      }
  }
  const void* data() const { return dtype == Dtype::kFp32 ? static_cast<const void*>(fp32.data()) : bf16.data(); }
  double at(std::int64_t r, std::int64_t c) const { return fp32[static_cast<std::size_t>(r * stride + c)]; }

  std::int64_t stride;
  Dtype dtype;
  std::vector<float> fp32;
  std::vector<Bf16> bf16;
};

class GemmOfSize : public ::testing::TestWithParam<std::tuple<std::tuple<int, int, int>, Dtype, bool>> {};

TEST_P(GemmOfSize, IsTheSumOfProducts) {
  const auto [size, wanted, accumulate] = GetParam();
  const auto [rows, depth, columns] = size;
  const Dtype inputs = gemm_input_dtype(wanted);
  const Matrix a(rows, depth, depth + 3, inputs, 1), b(depth, columns, columns + 5, inputs, 2);
  std::vector<float> c(static_cast<std::size_t>(rows * (columns + 7)), 2.5f);
  GemmWorkspace workspace;
  const Gemm gemm({rows, depth, columns, depth + 3, columns + 5, columns + 7, inputs, accumulate});
  gemm.run(a.data(), b.data(), c.data(), workspace);
  for (int r = 0; r < rows; ++r)
    for (int n = 0; n < columns + 7; ++n) {
      double sum = n < columns && !accumulate ? 0 : 2.5, size_of_terms = 0;
      for (int k = 0; k < depth && n < columns; ++k) {
        sum += a.at(r, k) * b.at(k, n);
        size_of_terms += std::abs(a.at(r, k) * b.at(k, n));
      }
      ASSERT_NEAR(c[static_cast<std::size_t>(r * (columns + 7) + n)], sum, 1e-6 * (size_of_terms + 3))
          << r << ", " << n;
    }
}

INSTANTIATE_TEST_SUITE_P(Sizes, GemmOfSize,
                         ::testing::Combine(::testing::Values(std::tuple(1, 1, 1), std::tuple(7, 33, 19),
                                                              std::tuple(64, 200, 1), std::tuple(1, 65, 129),
                                                              std::tuple(130, 17, 256)),
                                            ::testing::Values(Dtype::kFp32, Dtype::kBf16), ::testing::Bool()));

TEST(GemmRows, GoFromCellsToRowsAndBack) {
  for (const int width : {1, 3}) {
    const int columns = 37, tokens = 21, stride = columns * width + 4;
    std::vector<float> cells;
    for (int i = 0; i < columns * tokens * width; ++i) cells.push_back(static_cast<float>(i));
    std::vector<float> rows(static_cast<std::size_t>(tokens * stride), -1.0f), back(cells.size());
    std::vector<Bf16> rounded(rows.size());
    pack_rows(columns, tokens, width, cells.data(), rows.data(), stride);
    pack_rows(columns, tokens, width, cells.data(), rounded.data(), stride);
    for (int t = 0; t < tokens; ++t) {
      for (int c = 0; c < columns * width; ++c) {
        const float cell = cells[static_cast<std::size_t>((c / width * tokens + t) * width + c % width)];
        ASSERT_EQ(rows[static_cast<std::size_t>(t * stride + c)], cell);
        ASSERT_EQ(to_float(rounded[static_cast<std::size_t>(t * stride + c)]), to_float(to_bf16(cell)));
      }
      EXPECT_EQ(rows[static_cast<std::size_t>(t * stride + columns * width)], -1.0f);
    }
    unpack_rows(columns, tokens, width, rows.data(), stride, width, back.data());
    EXPECT_EQ(back, cells);
  }
}

}  // namespace
}  // namespace spscope::kernels
