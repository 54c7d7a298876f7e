// Local kernels of the CPU executor that are no matrix products, one row each: what a kernel needs beside its operands,
// and the call into kernels/layer.h. Plans that use a kernel that neither is in this table nor is a matrix product are
// refused before they start.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "backend/execute/cpu/attend_work.h"
#include "backend/execute/layer_parameters.h"

namespace spscope {

// One chunk of tokens of one tensor and one batch entry, staged as fp32: cells [columns][tokens][width].
struct LocalCall {
  std::int64_t columns = 0, tokens = 0, width = 0;  // of the first operand
  std::span<const float* const> operands;           // with the cells of the first one, or [tokens] of a norm statistic
  float* out = nullptr;                             // none of the operands
  // Of the held columns, [columns x width]: the parameters of the kernel's row, in its order.
  const float *first_parameter = nullptr, *second_parameter = nullptr;
  std::int64_t norm_channels = 0;                  // channels of all heads, which a norm statistic is over
  const float *cosine = nullptr, *sine = nullptr;  // [tokens][width / 2], where the kernel turns
  const float* text = nullptr;                     // [text_tokens][columns][k, v][width], where it reads text
  std::int64_t text_tokens = 0;
  std::int64_t predictions = 1;  // of passes of guidance beside each other, which `guide.P` has in its name
  ComputeScratch* scratch = nullptr;
};

// How many operands follow the first, and what they are.
enum class FurtherOperands { kNone, kAlike, kNormStatistic };

struct LocalKernel {
  std::string_view op;  // the kernel's name up to its dot
  void (*run)(const LocalCall& call);
  FurtherOperands further = FurtherOperands::kAlike;
  std::optional<ChannelParameter> first_parameter = {}, second_parameter = {};
  bool turns = false;  // by a rotary embedding
  bool reads_text = false;
  bool of_queries_or_keys = false;  // of k and v, v stays as it is
  bool contracts = false;           // the result has one column: the norm statistic
};

std::span<const LocalKernel> local_kernels();
// nullptr when the name, up to its dot, is not known.
const LocalKernel* find_local_kernel(std::string_view name);

// Whether a local post is of a kernel of this table or a matrix product of layer_kernels.def, on the operands that it
// takes. REQUIRES: verify(plan) is empty.
bool is_known_work(const Plan& plan, const Post& post);

}  // namespace spscope
