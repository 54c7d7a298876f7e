#include "backend/execute/cpu/local_kernels.h"

#include <algorithm>

#include "backend/execute/cpu/text_attention.h"
#include "backend/plan/layer_kernels.h"
#include "kernels/layer.h"

namespace spscope {
namespace {

std::int64_t num_elements(const LocalCall& call) { return call.columns * call.tokens * call.width; }
kernels::ChannelShape channel_shape(const LocalCall& call) { return {call.columns, call.tokens}; }
kernels::HeadShape head_shape(const LocalCall& call) { return {call.columns, call.tokens, call.width}; }

double* statistics(const LocalCall& call, std::int64_t count) {
  std::vector<double>& array = call.scratch->statistics;
  array.resize(std::max(array.size(), static_cast<std::size_t>(count)));
  return array.data();
}

void run_copy(const LocalCall& call) { std::copy_n(call.operands.front(), num_elements(call), call.out); }

// Residual connections.
void run_add(const LocalCall& call) {
  run_copy(call);
  for (const float* operand : call.operands.subspan(1))
    for (std::int64_t i = 0; i < num_elements(call); ++i) call.out[i] += operand[i];
}

void run_modulate(const LocalCall& call) {
  kernels::modulate(channel_shape(call), call.operands.front(), call.first_parameter, call.second_parameter,
                    statistics(call, 2 * call.tokens), call.out);
}

void run_gate(const LocalCall& call) {
  kernels::gate(channel_shape(call), call.operands.front(), call.operands.subspan(1), call.first_parameter, call.out);
}

void run_gelu(const LocalCall& call) {
  const auto count = static_cast<std::size_t>(num_elements(call));
  kernels::gelu_tanh(std::span(call.operands.front(), count), std::span(call.out, count));
}

void run_rms(const LocalCall& call) {
  kernels::scale_by_rms(head_shape(call), call.operands[0], call.operands[1], call.norm_channels, call.first_parameter,
                        call.out);
}

void run_head_rms(const LocalCall& call) {
  kernels::scale_by_head_rms(head_shape(call), call.operands.front(), call.first_parameter, call.out);
}

void run_rms_rope(const LocalCall& call) {
  run_rms(call);
  kernels::rotate(head_shape(call), call.cosine, call.sine, call.out);
}

void run_head_rms_rope(const LocalCall& call) {
  run_head_rms(call);
  kernels::rotate(head_shape(call), call.cosine, call.sine, call.out);
}

void run_sum_of_squares(const LocalCall& call) {
  double* sums = statistics(call, call.tokens);
  kernels::sum_of_squares(head_shape(call), call.operands.front(), sums);
  std::transform(sums, sums + call.tokens, call.out, [](double sum) { return static_cast<float>(sum); });
}

void run_guide(const LocalCall& call) {
  kernels::guide(channel_shape(call), call.predictions, call.operands.front(), call.out);
}

}  // namespace

std::span<const LocalKernel> local_kernels() {
  using enum ChannelParameter;
  constexpr auto kNone = FurtherOperands::kNone, kAlike = FurtherOperands::kAlike,
                 kStatistic = FurtherOperands::kNormStatistic;
  static constexpr LocalKernel table[] = {
      {.op = "copy", .run = run_copy, .further = kNone},
      {.op = "add", .run = run_add, .further = kAlike},
      {.op = "add_shares", .run = run_add, .further = kAlike},
      {.op = "residual", .run = run_add, .further = kAlike},
      {.op = "gelu", .run = run_gelu, .further = kNone},
      {.op = "gate", .run = run_gate, .further = kAlike, .first_parameter = kGate},
      {.op = "modulate", .run = run_modulate, .further = kNone, .first_parameter = kScale, .second_parameter = kShift},
      {.op = "rms", .run = run_rms, .further = kStatistic, .first_parameter = kNormWeight, .of_queries_or_keys = true},
      {.op = "rms_rope",
       .run = run_rms_rope,
       .further = kStatistic,
       .first_parameter = kNormWeight,
       .turns = true,
       .of_queries_or_keys = true},
      {.op = "head_rms",
       .run = run_head_rms,
       .further = kNone,
       .first_parameter = kNormWeight,
       .of_queries_or_keys = true},
      {.op = "head_rms_rope",
       .run = run_head_rms_rope,
       .further = kNone,
       .first_parameter = kNormWeight,
       .turns = true,
       .of_queries_or_keys = true},
      {.op = "cross_attention", .run = attend_to_text, .further = kNone, .reads_text = true},
      {.op = "guide", .run = run_guide, .further = kNone},
      {.op = "sumsq", .run = run_sum_of_squares, .further = kNone, .contracts = true},
      {.op = "sumsq_k", .run = run_sum_of_squares, .further = kNone, .contracts = true},
  };
  return table;
}

const LocalKernel* find_local_kernel(std::string_view name) {
  for (const LocalKernel& kernel : local_kernels())
    if (kernel.op == split_kernel_name(name).op) return &kernel;
  return nullptr;
}

bool is_known_work(const Plan& plan, const Post& post) {
  const auto value = [&](ValueId id) -> const Value& { return plan.values[static_cast<std::size_t>(id)]; };
  const Kernel& kernel = plan.kernels[static_cast<std::size_t>(post.kernel)];
  const LocalKernel* local = find_local_kernel(kernel.name);
  const std::span<const ValueId> further = plan.value_list(post.operands);
  if (local == nullptr) return kernel.contracts && further.empty() && find_layer_op(kernel.name).has_value();
  const bool statistic = further.size() == 1 && value(further.front()).tensors == TensorSet{Tensor::kNorm};
  const bool alike =
      std::ranges::all_of(further, [&](ValueId id) { return value(id).tensors == value(post.src).tensors; });
  if (local->contracts != kernel.contracts) return false;
  switch (local->further) {
    case FurtherOperands::kNone:
      return further.empty();
    case FurtherOperands::kAlike:
      return alike;
    case FurtherOperands::kNormStatistic:
      return statistic;
  }
  return false;
}

}  // namespace spscope
