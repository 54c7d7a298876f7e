// Between cells, [column][token][element], and the rows of a matrix, [token][column x element]; and the scratch of a
// product.
#include <algorithm>
#include <cstddef>

#include "kernels/gemm.h"

namespace spscope::kernels {
namespace {

constexpr std::size_t kPageBytes = 4096;
// Columns and tokens of the squares in which single elements are transposed: a cache line of either side.
constexpr std::int64_t kSquare = 16;

void store(float x, float* out) { *out = x; }
void store(float x, Bf16* out) { *out = to_bf16(x); }

// visit(column begin, column end, token begin, token end) for each square.
template <typename Visit>
void for_each_square(std::int64_t columns, std::int64_t tokens, Visit&& visit) {
  for (std::int64_t t = 0; t < tokens; t += kSquare)
    for (std::int64_t c = 0; c < columns; c += kSquare)
      visit(c, std::min(columns, c + kSquare), t, std::min(tokens, t + kSquare));
}

template <typename Element>
void pack(std::int64_t columns, std::int64_t tokens, std::int64_t width, const float* in, Element* out,
          std::int64_t out_stride) {
  if (width > 1) {
    for (std::int64_t c = 0; c < columns; ++c)
      for (std::int64_t t = 0; t < tokens; ++t) {
        const float* cell = in + (c * tokens + t) * width;
        Element* row = out + t * out_stride + c * width;
        for (std::int64_t i = 0; i < width; ++i) store(cell[i], row + i);
      }
    return;
  }
  for_each_square(columns, tokens, [&](std::int64_t c0, std::int64_t c1, std::int64_t t0, std::int64_t t1) {
    for (std::int64_t t = t0; t < t1; ++t)
      for (std::int64_t c = c0; c < c1; ++c) store(in[c * tokens + t], out + t * out_stride + c);
  });
}

}  // namespace

void* GemmWorkspace::at_least(std::size_t bytes) {
  if (memory_.size() < bytes + kPageBytes) memory_.resize(bytes + kPageBytes);
  const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
  return memory_.data() + (kPageBytes - address % kPageBytes) % kPageBytes;
}

void pack_rows(std::int64_t columns, std::int64_t tokens, std::int64_t width, const float* in, float* out,
               std::int64_t out_stride) {
  pack(columns, tokens, width, in, out, out_stride);
}

void pack_rows(std::int64_t columns, std::int64_t tokens, std::int64_t width, const float* in, Bf16* out,
               std::int64_t out_stride) {
  pack(columns, tokens, width, in, out, out_stride);
}

void unpack_rows(std::int64_t columns, std::int64_t tokens, std::int64_t width, const float* in, std::int64_t in_stride,
                 std::int64_t column_stride, float* out) {
  if (width > 1) {
    for (std::int64_t c = 0; c < columns; ++c)
      for (std::int64_t t = 0; t < tokens; ++t)
        std::copy_n(in + t * in_stride + c * column_stride, width, out + (c * tokens + t) * width);
    return;
  }
  for_each_square(columns, tokens, [&](std::int64_t c0, std::int64_t c1, std::int64_t t0, std::int64_t t1) {
    for (std::int64_t c = c0; c < c1; ++c)
      for (std::int64_t t = t0; t < t1; ++t) out[c * tokens + t] = in[t * in_stride + c * column_stride];
  });
}

}  // namespace spscope::kernels
