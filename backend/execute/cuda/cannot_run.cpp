#include "backend/execute/cuda/cannot_run.h"

#include <fmt/format.h>

#include "backend/base/ids.h"
#include "kernels/attention.h"

namespace spscope::cuda {
namespace {

constexpr const char* kScopeHint = "set run.scope = \"attention\", run.device = \"cpu\" or run.mode = \"simulate\"";

// The kernel of local posts that only copies is the one that there is.
bool is_copy(const Plan& plan, const Post& post) {
  return plan.kernels[at(post.kernel)].name == "copy" && post.operands.empty() &&
         plan.values[at(post.src)].tensors == plan.values[at(post.dst)].tensors;
}

// Whether a post makes nothing but zeros: shares of a sum by ranks that hold none of the columns it is over.
bool is_zeros(const Plan& plan, PostId id) {
  const Post& post = plan.posts[at(id)];
  for (const Op& op : plan.ops)
    if (op.post == id && !plan.values[at(post.src)].placement.at(op.rank).empty()) return false;
  return true;
}

}  // namespace

std::vector<Problem> cuda_cannot_run(const Plan& plan, const ExecuteOptions& options) {
  std::vector<Problem> problems;
  const auto refuse = [&](std::string field, std::string message, std::string hint) {
    problems.push_back({ErrorCode::kCannotExecute, std::move(field), std::move(message), std::move(hint)});
  };
  if (options.threads_per_rank != 1)
    refuse("run.threads_per_rank", fmt::format("{} threads a rank", options.threads_per_rank),
           "set it to 1: a rank computes on its GPU");
  const int head_dim = plan.tensor_width[static_cast<int>(Tensor::kQ)];
  if (head_dim > kernels::kMaxHeadDim)
    refuse("model.head_dim",
           fmt::format("the attention kernels take head dims up to {}, not {}", kernels::kMaxHeadDim, head_dim),
           "use more heads of fewer channels, or run.mode = \"simulate\"");
  std::vector<bool> refused(plan.kernels.size(), false);
  bool reduces = false;
  for (PostId id = 0; id < static_cast<PostId>(plan.posts.size()); ++id) {
    const Post& post = plan.posts[at(id)];
    reduces = reduces || post.kind == PostKind::kReduce;
    if (post.kind != PostKind::kLocal || refused[at(post.kernel)] || is_copy(plan, post) || is_zeros(plan, id))
      continue;
    refused[at(post.kernel)] = true;
    refuse("run.scope",
           fmt::format("ranks on a GPU run attention alone, and have no kernel \"{}\"",
                       plan.kernels[at(post.kernel)].name),
           kScopeHint);
  }
  if (reduces) refuse("run.scope", "ranks on a GPU run attention alone, and do not add shares of sums", kScopeHint);
  for (const Value& value : plan.values)
    if (value.given && value.tensors != kQueries && value.tensors != kKeysValues)
      refuse("run.scope", fmt::format("the input {} is not one of q, k and v", tensor_set_name(value.tensors)),
             kScopeHint);
  for (const Output& output : plan.outputs)
    if (const Value& value = plan.values[at(output.value)]; value.tensors != kOutputs)
      refuse("run.scope", fmt::format("the output {} is not of an attention", tensor_set_name(value.tensors)),
             kScopeHint);
  return problems;
}

}  // namespace spscope::cuda
