// GPU ranks that fail: the rank and the op are named, whoever noticed, and the run ends.
#include <gmock/gmock.h>

#include <chrono>
#include <thread>

#include "backend/base/result.h"
#include "backend/execute/execute.h"
#include "backend/execute/reference/reference.h"
#include "backend/strategies/strategy.h"
#include "tests/fake_cuda/fake_cuda.h"
#include "tests/gpu_ranks/small_workloads.h"

namespace spscope {
namespace {

using fake_cuda::FakeCuda;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

struct RingOf4 {
  Request request = make_request(kSmallWorkloads[0], *find_pattern("sparge"), 4, Dtype::kFp32);
  Plan plan = make_plan(*find_strategy("ring"), request, Parameters(find_strategy("ring")->parameters()));
  Activations activations = generate_activations(request, 1);

  OpId find_op(PostKind kind, int rank) const {
    for (OpId id = 0; id < static_cast<OpId>(plan.ops.size()); ++id)
      if (const Op& op = plan.ops[static_cast<std::size_t>(id)]; op.rank == rank && plan.kind_of(op) == kind) return id;
    return kNone;
  }
  ExecuteResult run(ExecuteOptions options = {}) const {
    options.device = "cuda";
    return execute(plan, request, activations, options);
  }
  Error error(const ExecuteOptions& options = {}) const {
    const std::optional<Error> error = failure_of([&] { run(options); });
    return error ? *error : Error(ErrorCode::kInternal, "nothing was thrown");
  }
};

// A thread that was left behind lets go of its GPUs once they have failed.
void let_go() {
  const FakeCuda next;
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
}

TEST(GpuFailure, WhateverADeviceDoesRankAndOpAreNamed) {
  const RingOf4 ring;
  // Ops are enqueued in the order of the plan, so that the first launch of attention is that of the first rank. A
  // kernel that hangs is named before those that wait for it.
  const std::string first_op = std::to_string(ring.find_op(PostKind::kAttend, 0));
  const struct {
    const char* settings;
    ErrorCode code;
    std::string pattern;
  } cases[] = {
      {"refuse=spscope_attend*:1", ErrorCode::kRankFailed,
       "rank 0 failed in attend op " + first_op + " \\(sequence [0-9]+, lane 0\\): cuLaunchKernel of spscope_attend.*"},
      {"fail=spscope_attend*:3", ErrorCode::kRankFailed,
       "rank [0-3] failed in attend op [0-9]+ \\(sequence [0-9]+, lane 0\\): .*"},
      {"devices=4 lose=2:1", ErrorCode::kRankFailed, "rank 2 failed in attend op .*CUDA_ERROR_ECC_UNCORRECTABLE.*"},
      {"memory=20000", ErrorCode::kDeviceMemory,
       "rank [0-3]: cuMemAlloc of [0-9]+ bytes on device 0: CUDA_ERROR_OUT_OF_MEMORY.* \\(most of its memory is "
       "in use in [a-z]+ op [0-9]+ .*"},
      {"hang=spscope_attend*:2", ErrorCode::kRankHung,
       "rank [0-3] made no progress for 1\\.[0-9] s in attend op [0-9]+ .*"}};
  for (const auto& [settings, code, pattern] : cases) {
    SCOPED_TRACE(settings);
    const FakeCuda fake(settings);
    ExecuteOptions options;
    if (code == ErrorCode::kRankHung) options.watchdog_seconds = 1;
    options.grace_seconds = 0.2;  // streams of other GPUs wait for a lost one for ever
    const Error error = ring.error(options);
    EXPECT_EQ(error.code(), code);
    EXPECT_THAT(error.what(), MatchesRegex(pattern));
    let_go();
  }
}

TEST(GpuFailure, WhatAKernelHasBrokenStaysWithItsContext) {
  const RingOf4 ring;
  const FakeCuda fake("fail=spscope_attend*:3");
  EXPECT_EQ(ring.error().code(), ErrorCode::kRankFailed);
  const Reference reference(ring.request, ring.activations, VerifyExtent::kFull, 0);
  EXPECT_EQ(reference.check(ring.run().outputs).verdict, Verdict::kPassed);
}

TEST(GpuFailure, WholeLayersAndSumsAreRefusedWithTheWayOn) {
  const TestedWorkload layer{.name = "layer",
                             .heads = 4,
                             .head_dim = 8,
                             .grid = {2, 3, 7},
                             .block = 8,
                             .block_of_layer = LayerBlock::kWan,
                             .context_tokens = 5};
  const Request request = make_request(layer, *find_pattern("dense"), 2, Dtype::kFp32);
  const Strategy& megatron = *find_strategy("megatron_tp");
  ExecuteOptions options;
  options.device = "cuda";
  std::string all;
  for (const Problem& problem :
       cannot_execute(make_plan(megatron, request, Parameters(megatron.parameters())), options)) {
    EXPECT_THAT(problem.hint, HasSubstr("run.scope = \"attention\""));
    all += problem.message + "\n";
  }
  EXPECT_THAT(all, HasSubstr("run attention alone, and have no kernel \"wq"));
  EXPECT_THAT(all, HasSubstr("do not add shares of sums"));
}

}  // namespace
}  // namespace spscope
