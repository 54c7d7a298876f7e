#include "backend/execute/cpu/text_attention.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "backend/execute/cpu/local_kernels.h"
#include "backend/plan/layer_kernels.h"
#include "kernels/attention.h"
#include "kernels/layer.h"

namespace spscope {
namespace {

// Rows in blocks that the attention kernel takes: visit(first, count).
template <typename Visit>
void for_each_block(std::int64_t rows, Visit&& visit) {
  for (std::int64_t first = 0; first < rows; first += kernels::kMaxBlockRows)
    visit(first, static_cast<std::int32_t>(std::min<std::int64_t>(kernels::kMaxBlockRows, rows - first)));
}

// The sum of squares of the k of one text token, row [heads][k, v][dim].
double key_squares(const float* row, std::int64_t heads, std::int64_t dim) {
  double sum = 0;
  for (std::int64_t head = 0; head < heads; ++head, row += 2 * dim)
    for (std::int64_t i = 0; i < dim; ++i) sum += double{row[i]} * row[i];
  return sum;
}

}  // namespace

TextProduct::TextProduct(const Request& request, const Kernel& kernel, SetId heads, LayerParameters& parameters)
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

void TextProduct::run(int batch_entry, float* out, kernels::GemmWorkspace& workspace) const {
  for (std::size_t i = 0; i < parts_.size(); ++i)
    gemms_[i].run(text_.address(batch_entry * tokens_, 0), weight_.address(0, parts_[i].out_first),
                  out + parts_[i].out_at, workspace);
}

TextProjection::TextProjection(const Request& request, const Kernel& kernel, SetId heads, LayerParameters& parameters)
    : product_(request, kernel, heads, parameters),
      tokens_(request.context_tokens),
      heads_(request.sets->size(heads)),
      head_dim_(request.head_dim),
      norm_channels_(std::int64_t{request.heads} * request.head_dim) {
  if (!norms_text_keys(request)) return;
  const std::vector<float>& weight = parameters.channels(request, kernel, kKeysValues, ChannelParameter::kNormWeight);
  for (const Span& span : request.sets->spans(heads))
    norm_weight_.insert(norm_weight_.end(), weight.begin() + span.begin * head_dim_,
                        weight.begin() + span.end * head_dim_);
  other_squares_.assign(static_cast<std::size_t>(request.batch * tokens_), 0.0);
  const SetId others = request.sets->minus(request.all_heads(), heads);
  if (others == kEmptySet) return;
  const TextProduct product(request, kernel, others, parameters);
  const std::int64_t num_others = request.heads - heads_;
  std::vector<float> rows(static_cast<std::size_t>(product.num_elements()));
  kernels::GemmWorkspace workspace;
  for (int entry = 0; entry < request.batch; ++entry) {
    product.run(entry, rows.data(), workspace);
    for (std::int64_t t = 0; t < tokens_; ++t)
      other_squares_[static_cast<std::size_t>(entry * tokens_ + t)] =
          key_squares(rows.data() + t * num_others * 2 * head_dim_, num_others, head_dim_);
  }
}

void TextProjection::run(int batch_entry, float* out, kernels::GemmWorkspace& workspace) const {
  product_.run(batch_entry, out, workspace);
  if (!norm_weight_.empty()) norm_keys(batch_entry, out);
}

void TextProjection::norm_keys(int batch_entry, float* rows) const {
  for (std::int64_t t = 0; t < tokens_; ++t) {
    float* row = rows + t * heads_ * 2 * head_dim_;
    const double squares =
        other_squares_[static_cast<std::size_t>(batch_entry * tokens_ + t)] + key_squares(row, heads_, head_dim_);
    const double mean = squares / static_cast<double>(norm_channels_);
    const auto factor = static_cast<float>(1 / std::sqrt(mean + kernels::kNormEpsilon));
    for (std::int64_t head = 0; head < heads_; ++head)
      for (std::int64_t i = 0; i < head_dim_; ++i)
        row[head * 2 * head_dim_ + i] *= factor * norm_weight_[static_cast<std::size_t>(head * head_dim_ + i)];
  }
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
    scratch.q.clear();
    scratch.k.clear();
    scratch.v.clear();
    scratch.state.clear();
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
