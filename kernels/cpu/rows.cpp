// Operations on unfinished rows outside of attend: clear, merge, finish. Plain loops: this work is a small share of the
// attention's.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/attention.h"

namespace spscope::kernels {

namespace {

// exp(from - to) for from <= to, where a row without keys (-inf) has weight 0 even against another such row.
float weight_of(float from, float to) {
  return from == -std::numeric_limits<float>::infinity() ? 0.0f : std::exp(from - to);
}

}  // namespace

void clear_rows(std::int32_t rows, int head_dim, const RowState& state) {
  for (std::int64_t row = 0; row < rows; ++row) std::fill_n(state.out + row * state.out_stride, head_dim, 0.0f);
  std::fill_n(state.row_max, rows, -std::numeric_limits<float>::infinity());
  std::fill_n(state.row_sum, rows, 0.0f);
}

void merge_rows(std::int32_t rows, int head_dim, const RowState& from, const RowState& into) {
  for (std::int64_t row = 0; row < rows; ++row) {
    const float maximum = std::max(from.row_max[row], into.row_max[row]);
    const float from_weight = weight_of(from.row_max[row], maximum);
    const float into_weight = weight_of(into.row_max[row], maximum);
    const float* from_out = from.out + row * from.out_stride;
    float* into_out = into.out + row * into.out_stride;
    for (int i = 0; i < head_dim; ++i) into_out[i] = into_out[i] * into_weight + from_out[i] * from_weight;
    into.row_sum[row] = into.row_sum[row] * into_weight + from.row_sum[row] * from_weight;
    into.row_max[row] = maximum;
  }
}

void finish_rows(Dtype dtype, int head_dim, const RowState& state, const OutputBlock& output) {
  for (std::int64_t row = 0; row < output.rows; ++row) {
    const float* out = state.out + row * state.out_stride;
    const float inverse_sum = state.row_sum[row] > 0 ? 1 / state.row_sum[row] : 0.0f;
    if (dtype == Dtype::kFp32) {
      float* finished = static_cast<float*>(output.data) + row * output.stride;
      for (int i = 0; i < head_dim; ++i) finished[i] = out[i] * inverse_sum;
    } else {
      Bf16* finished = static_cast<Bf16*>(output.data) + row * output.stride;
      for (int i = 0; i < head_dim; ++i) finished[i] = to_bf16(out[i] * inverse_sum);
    }
  }
}

}  // namespace spscope::kernels
