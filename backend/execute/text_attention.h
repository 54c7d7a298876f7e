// Attention of queries to the text of a cross-attention, a parameter of its kernel: every token reads all text tokens,
// so that the work of a rank is its own alone.
#pragma once

#include <vector>

#include "backend/execute/gemm_work.h"
#include "backend/execute/layer_parameters.h"

namespace spscope {

struct LocalCall;

// k and v of the text for some heads of one kernel: the projection is part of the kernel's work in every run.
class TextProjection {
 public:
  TextProjection(const Request& request, const Kernel& kernel, SetId heads, LayerParameters& parameters);

  std::int64_t num_elements() const { return tokens_ * row_; }
  std::int64_t tokens() const { return tokens_; }
  // out [text tokens][heads][k, v][head_dim], of one batch entry.
  void run(int batch_entry, float* out, kernels::GemmWorkspace& workspace) const;

 private:
  const ParameterMatrix &text_, &weight_;
  std::int64_t tokens_, row_;
  std::vector<WeightPart> parts_;
  std::vector<kernels::Gemm> gemms_;
};

// softmax(q k / sqrt(width)) v of each column (head) and token of the call over the call's text.
void attend_to_text(const LocalCall& call);

}  // namespace spscope
