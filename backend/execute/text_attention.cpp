#include "backend/execute/text_attention.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "backend/execute/local_kernels.h"
#include "kernels/attention.h"

namespace spscope {
namespace {

// Rows in blocks that the attention kernel takes: visit(first, count).
template <typename Visit>
void for_each_block(std::int64_t rows, Visit&& visit) {
  for (std::int64_t first = 0; first < rows; first += kernels::kMaxBlockRows)
    visit(first, static_cast<std::int32_t>(std::min<std::int64_t>(kernels::kMaxBlockRows, rows - first)));
}

}  // namespace

TextProjection::TextProjection(const Request& request, const Kernel& kernel, SetId heads, LayerParameters& parameters)
    : text_(parameters.text(request)),
      weight_(parameters.text_weight(request, kernel)),
      tokens_(request.context_tokens),
      row_(request.sets->size(heads) * 2 * request.head_dim),
      parts_(weight_parts(*request.sets, request.all_columns(Axis::kHidden), 1, heads,
                          2 * std::int64_t{request.head_dim})) {
  for (const WeightPart& part : parts_)
    gemms_.emplace_back(kernels::GemmShape{.rows = tokens_,
                                           .depth = part.depth,
                                           .columns = part.columns,
                                           .a_stride = text_.columns(),
                                           .b_stride = weight_.columns(),
                                           .c_stride = row_,
                                           .inputs = weight_.stored()});
}

void TextProjection::run(int batch_entry, float* out, kernels::GemmWorkspace& workspace) const {
  for (std::size_t i = 0; i < parts_.size(); ++i)
    gemms_[i].run(text_.address(batch_entry * tokens_, 0), weight_.address(0, parts_[i].out_first),
                  out + parts_[i].out_at, workspace);
}

void attend_to_text(const LocalCall& call) {
  ComputeScratch& scratch = *call.scratch;
  const auto dim = static_cast<int>(call.width);
  const std::int64_t stride = call.columns * 2 * dim;
  // The running max and sum of every row stand in the scratch, its rows in `out`.
  scratch.row_state.resize(std::max(scratch.row_state.size(), static_cast<std::size_t>(2 * call.tokens)));
  float *row_max = scratch.row_state.data(), *row_sum = row_max + call.tokens;
  std::vector<std::int32_t> row_begin = {0}, k_block;
  for (std::int64_t head = 0; head < call.columns; ++head) {
    const float* q = call.operands.front() + head * call.tokens * dim;
    float* out = call.out + head * call.tokens * dim;
    scratch.q.clear(), scratch.k.clear(), scratch.v.clear(), scratch.state.clear();
    for_each_block(call.text_tokens, [&](std::int64_t first, std::int32_t rows) {
      const float* k = call.text + first * stride + head * 2 * dim;
      scratch.k.push_back({k, rows, stride});
      scratch.v.push_back({k + dim, rows, stride});
    });
    k_block.clear(), row_begin.resize(1);
    for_each_block(call.tokens, [&](std::int64_t first, std::int32_t rows) {
      scratch.q.push_back({q + first * dim, rows, dim});
      scratch.state.push_back({out + first * dim, row_max + first, row_sum + first, dim});
      kernels::clear_rows(rows, dim, scratch.state.back());
      for (std::size_t block = 0; block < scratch.k.size(); ++block)
        k_block.push_back(static_cast<std::int32_t>(block));
      row_begin.push_back(static_cast<std::int32_t>(k_block.size()));
    });
    kernels::attend({.dtype = Dtype::kFp32,
                     .head_dim = dim,
                     .scale = static_cast<float>(1 / std::sqrt(static_cast<double>(dim))),
                     .q = scratch.q,
                     .state = scratch.state,
                     .k = scratch.k,
                     .v = scratch.v,
                     .row_begin = row_begin,
                     .k_block = k_block},
                    scratch.attention);
    for (std::size_t i = 0; i < scratch.state.size(); ++i)
      kernels::finish_rows(Dtype::kFp32, dim, scratch.state[i], {scratch.state[i].out, scratch.q[i].rows, dim});
  }
}

}  // namespace spscope
