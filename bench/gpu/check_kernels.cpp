// Every kernel of the image by shapes that it is chosen for: each head dim that attention is built for, and narrower
// ones; blocks of 1 to 384 tokens; rows that meet no key. Results against the reference in double precision.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "backend/base/rng.h"
#include "backend/execute/execute.h"
#include "backend/execute/reference/reference.h"
#include "backend/plan/plan_builder.h"
#include "backend/strategies/strategy.h"
#include "bench/gpu/all_checks.h"
#include "bench/gpu/rank_alone.h"
#include "bench/gpu/workload.h"
#include "kernels/cuda/select.h"

namespace spscope::gpu_check {
namespace {

struct MmaRow {
  const char* name;
  int rows, dim;
};
constexpr MmaRow kMmaRows[] = {
#define SPSCOPE_ATTEND_MMA(rows, dim, ring, blocks) {"spscope_attend_mma_" #rows "x" #dim, rows, dim},
#include "kernels/cuda/kernels.def"
};

// Tokens of each block: at most 64 for the kernels of 64 rows, more for those of 128.
std::vector<std::int32_t> block_tokens(bool long_blocks, bool tiny) {
  if (tiny) return long_blocks ? std::vector<std::int32_t>{66, 70} : std::vector<std::int32_t>{1, 9, 20, 3};
  return long_blocks ? std::vector<std::int32_t>{384, 1, 129, 128, 65, 255, 7, 200}
                     : std::vector<std::int32_t>{1, 7, 64, 33, 16, 2, 63, 50};
}

// Half of all blocks by chance, and none in the second row of the first head.
Request request_of(Dtype dtype, int head_dim, bool long_blocks, bool tiny) {
  const int heads = tiny ? 1 : 2;
  std::vector<std::int32_t> starts = {0};
  for (const std::int32_t tokens : block_tokens(long_blocks, tiny)) starts.push_back(starts.back() + tokens);
  BlockMask mask(heads, std::move(starts));
  Rng rng(3);
  for (int head = 0; head < heads; ++head)
    for (std::int32_t q = 0; q < mask.blocks(); ++q)
      for (std::int32_t k = 0; k < mask.blocks(); ++k)
        if ((head != 0 || q != 1) && (rng.below(2) == 0 || q == k)) mask.set(head, q, k);
  Request request = Request::attention(1, heads, head_dim, std::move(mask), dtype);
  define_outputs(request);
  return request;
}

// One rank attends two parts of its keys, the first into rows that merge with the second's: all kernels but that which
// holds multiprocessors.
Plan split_plan(const Request& request) {
  PlanBuilder b(request);
  const Placement rows = b.place([&](int) { return BoxList{request.whole()}; });
  const auto cut = request.executed_mask().mask().block_starts();
  const std::int32_t middle = cut[cut.size() / 2];
  auto [q, kv] = b.input_qkv(rows);
  kv = b.local("copy", {&kv, 1});
  const auto keys = [&](std::int32_t begin, std::int32_t end) {
    return b.narrow(kv, b.place([&](int) {
      return BoxList{{request.all_heads(), request.all_outer(), b.sets().span(begin, end)}};
    }));
  };
  const AccId first = b.accumulate(q), second = b.accumulate(q);
  b.attend(first, keys(0, middle));
  b.merge(second, b.partial(first));
  b.attend(second, keys(middle, request.inner_tokens));
  b.output(b.finish(second), rows);
  return b.take();
}

class KernelCheck {
 public:
  explicit KernelCheck(bool tiny) : tiny_(tiny) {}

  void run(const std::string& attend, Dtype dtype, int head_dim, bool long_blocks) {
    const Request request = request_of(dtype, head_dim, long_blocks, tiny_);
    const Activations activations = generate_activations(request, 7);
    const Reference reference(request, activations, VerifyExtent::kFull, 0);
    for (const Plan& plan : {default_plan("single", request), split_plan(request)}) {
      const std::string what =
          fmt::format("{} on {} heads of {}, {} tokens", attend, request.heads, head_dim, request.inner_tokens);
      const std::set<std::string> kernels = RankAlone(plan, request, activations).kernels();
      if (!kernels.contains(attend))
        result.faults.push_back(fmt::format("{}: the kernels are {}", what, fmt::join(kernels, ", ")));
      seen_.insert(kernels.begin(), kernels.end());
      ExecuteOptions options;
      options.device = "cuda";
      options.poison = true;
      const Verification found = reference.check(execute(plan, request, activations, options).outputs);
      largest_error_ = std::max(largest_error_, found.max_error);
      if (found.verdict != Verdict::kPassed)
        result.faults.push_back(fmt::format("{}: differs from the reference by {:.3g}", what, found.max_error));
    }
  }

  CheckResult take(bool tensor_cores) {
    for (const char* const name : {
#define SPSCOPE_KERNEL(name, ...) #name,
#include "kernels/cuda/kernels.def"
         }) {
      const std::string_view kernel = name;
      // Held multiprocessors are calibrate's; each GPU has one kind of attention in bf16.
      const bool unused = kernel == "spscope_hold" ||
                          (tensor_cores ? kernel == "spscope_attend_plain_bf16" : kernel.find("_mma_") != kernel.npos);
      if (!unused && !seen_.contains(name)) result.faults.push_back(fmt::format("no plan launched {}", kernel));
    }
    result.facts["kernels"] = fmt::format("{}", fmt::join(seen_, ", "));
    result.figures = {{"kernels", "", static_cast<double>(seen_.size())},
                      {"largest error of a row", "", largest_error_}};
    return std::move(result);
  }

  CheckResult result;

 private:
  const bool tiny_;
  std::set<std::string> seen_;
  double largest_error_ = 0;
};

}  // namespace

CheckResult check_kernels(const CheckContext& context) {
  KernelCheck check(context.tiny);
  const bool tensor_cores = cuda::gpus().front().compute_capability() >= kernels::cuda::kTensorCores;
  if (tensor_cores)
    for (const MmaRow& row : kMmaRows)
      for (const bool long_blocks : {false, true}) {
        // Of two kernels for a head dim, that of more rows is for longer blocks.
        const auto is_of_dim = [&](const MmaRow& other) { return other.dim == row.dim; };
        if (std::ranges::count_if(kMmaRows, is_of_dim) > 1 && long_blocks != (row.rows > 64)) continue;
        for (const int head_dim : {row.dim, row.dim - 8, row.dim - 5})
          if (!context.tiny || head_dim != row.dim - 8) check.run(row.name, Dtype::kBf16, head_dim, long_blocks);
      }
  for (const int head_dim : {32, 123, 256})
    for (const bool long_blocks : {false, true}) {
      check.run("spscope_attend_plain_fp32", Dtype::kFp32, head_dim, long_blocks);
      if (!tensor_cores) check.run("spscope_attend_plain_bf16", Dtype::kBf16, head_dim, long_blocks);
    }
  return check.take(tensor_cores);
}

}  // namespace spscope::gpu_check
