// Attention of queries to the text of a cross-attention, a parameter of its kernel: every token reads all text tokens,
// so that the work of a rank is its own alone.
#pragma once

#include <vector>

#include "backend/execute/cpu/gemm_work.h"
#include "backend/execute/layer_parameters.h"

namespace spscope {

struct LocalCall;

// Products of the text with the columns of a weight that belong to some heads.
class TextProduct {
 public:
  TextProduct(const Request& request, const Kernel& kernel, SetId heads, LayerParameters& parameters);

  std::int64_t num_elements() const { return tokens_ * row_; }
  // out [text tokens][heads][k, v][head_dim], of one batch entry.
  void run(int batch_entry, float* out, kernels::GemmWorkspace& workspace) const;

 private:
  const ParameterMatrix &text_, &weight_;
  std::int64_t tokens_, row_;
  std::vector<WeightPart> parts_;
  std::vector<kernels::Gemm> gemms_;
};

// k and v of the text for some heads of one kernel: the projection, and the norm of k where the layer has one
// (norms_text_keys), are part of the kernel's work in every run. What the heads of other ranks add to the sums of
// squares follows from the parameters and is computed once, here: no run spends time on it.
class TextProjection {
 public:
  TextProjection(const Request& request, const Kernel& kernel, SetId heads, LayerParameters& parameters);

  std::int64_t num_elements() const { return product_.num_elements(); }
  std::int64_t tokens() const { return tokens_; }
  // out [text tokens][heads][k, v][head_dim], of one batch entry.
  void run(int batch_entry, float* out, kernels::GemmWorkspace& workspace) const;

 private:
  void norm_keys(int batch_entry, float* rows) const;

  TextProduct product_;
  std::int64_t tokens_, heads_, head_dim_, norm_channels_;
  std::vector<float> norm_weight_;     // [heads][head_dim]; empty without a norm
  std::vector<double> other_squares_;  // [batch][tokens]: of the heads that are not among these
};

// softmax(q k / sqrt(width)) v of each column (head) and token of the call over the call's text.
void attend_to_text(const LocalCall& call);

}  // namespace spscope
