// Matrix products on one core: c = a b, or c += a b, with fp32 accumulation and fp32 results.
//
// Notation: T rows of a (tokens), K columns of a (depth), N columns of c.
//   a [T][K], b [K][N]  fp32 or bf16, rows `stride` elements apart, elements of a row next to each other
//   c [T][N]            fp32, likewise
// A Gemm is made once for a shape, which generates its machine code, and runs any number of times from any thread, each
// with a workspace of its own. oneDNN computes it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/base/dtype.h"

namespace spscope::kernels {

struct GemmShape {
  std::int64_t rows = 0, depth = 0, columns = 0;          // T, K, N, all > 0
  std::int64_t a_stride = 0, b_stride = 0, c_stride = 0;  // >= K, N, N
  Dtype inputs = Dtype::kFp32;                            // of a and b; gemm_input_dtype(inputs) == inputs
  bool accumulate = false;                                // c += a b
  friend bool operator==(const GemmShape&, const GemmShape&) = default;
};

// The input type of a Gemm for numbers rounded to `dtype`: fp32 where the processor has no bf16 multiplication.
Dtype gemm_input_dtype(Dtype dtype);

// Scratch memory of one thread; grows to the largest product.
class GemmWorkspace {
 public:
  // REQUIRES: the pointer is used before the next call. Aligned to a page.
  void* at_least(std::size_t bytes);
  std::int64_t num_bytes() const { return static_cast<std::int64_t>(memory_.capacity()); }

 private:
  std::vector<unsigned char> memory_;
};

class Gemm {
 public:
  // Throws Error(kUnavailable) when the library refuses the shape.
  explicit Gemm(const GemmShape& shape);

  const GemmShape& shape() const { return shape_; }
  void run(const void* a, const void* b, float* c, GemmWorkspace& workspace) const;

 private:
  struct Primitive;
  GemmShape shape_;
  std::shared_ptr<const Primitive> primitive_;
};

// Cells to rows of a matrix: out[token * out_stride + column * width + i] = in[(column * tokens + token) * width + i].
void pack_rows(std::int64_t columns, std::int64_t tokens, std::int64_t width, const float* in, float* out,
               std::int64_t out_stride);
void pack_rows(std::int64_t columns, std::int64_t tokens, std::int64_t width, const float* in, Bf16* out,
               std::int64_t out_stride);
// And back: out[(column * tokens + token) * width + i] = in[token * in_stride + column * column_stride + i].
void unpack_rows(std::int64_t columns, std::int64_t tokens, std::int64_t width, const float* in, std::int64_t in_stride,
                 std::int64_t column_stride, float* out);

}  // namespace spscope::kernels
