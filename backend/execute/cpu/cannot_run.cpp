// cpu_cannot_run(): what the kernels of the CPU executors do not cover.
#include <fmt/format.h>

#include "backend/execute/cpu/cpu_device.h"
#include "backend/execute/cpu/gemm_work.h"
#include "backend/execute/cpu/local_kernels.h"
#include "kernels/attention.h"
#include "kernels/gemm.h"

namespace spscope {
namespace {

// What no kernel of the CPU executor computes, and inputs and outputs that are not those of an attention or a layer.
std::vector<Problem> unknown_work(const Plan& plan) {
  std::vector<Problem> problems;
  const auto refuse = [&](std::string message, std::string hint) {
    problems.push_back({ErrorCode::kCannotExecute, "plan", std::move(message), std::move(hint)});
  };
  std::vector<bool> refused(plan.kernels.size(), false);
  for (const Post& post : plan.posts) {
    if (post.kind != PostKind::kLocal) continue;
    const auto id = static_cast<std::size_t>(post.kernel);
    const Kernel& kernel = plan.kernels[id];
    if (!is_known_work(plan, post) && !refused[id])
      refuse(fmt::format("ranks on the CPU have no kernel \"{}\" for these operands", kernel.name),
             "set run.scope = \"attention\"");
    refused[id] = refused[id] || !is_known_work(plan, post);
  }
  for (const Value& value : plan.values)
    if (value.given && value.tensors != kQueries && value.tensors != kKeysValues && value.tensors != kHiddenState)
      refuse(fmt::format("the input {} is not one of q, k, v and x", tensor_set_name(value.tensors)),
             "set run.scope = \"attention\"");
  for (const Output& output : plan.outputs)
    if (const Value& value = plan.values[static_cast<std::size_t>(output.value)];
        value.tensors != kOutputs && value.tensors != kHiddenState)
      refuse(fmt::format("the output {} is neither of an attention nor of a layer", tensor_set_name(value.tensors)),
             "set run.scope = \"attention\"");
  return problems;
}

}  // namespace

std::vector<Problem> cpu_cannot_run(const Plan& plan, const ExecuteOptions& options) {
  std::vector<Problem> problems;
  const auto refuse = [&](std::string field, std::string message, std::string hint) {
    problems.push_back({ErrorCode::kCannotExecute, std::move(field), std::move(message), std::move(hint)});
  };
  if (options.threads_per_rank != 1)
    refuse("run.threads_per_rank", fmt::format("{} threads a rank", options.threads_per_rank),
           "set it to 1: a rank computes on one core, and more cores take more ranks");
  const int head_dim = plan.tensor_width[static_cast<int>(Tensor::kQ)];
  if (head_dim > kernels::kMaxHeadDim)
    refuse("model.head_dim",
           fmt::format("the attention kernel takes head dims up to {}, not {}", kernels::kMaxHeadDim, head_dim),
           "use more heads of fewer channels, or run.mode = \"simulate\"");
  for (Problem& problem : unknown_work(plan)) problems.push_back(std::move(problem));
  return problems;
}

}  // namespace spscope
