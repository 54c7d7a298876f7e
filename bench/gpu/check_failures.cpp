// Failures that do not harm the GPU: each is named with its rank and op, and the device runs the same plan afterwards.
#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <regex>
#include <thread>

#include "backend/execute/cuda/memory.h"
#include "backend/execute/execute.h"
#include "backend/execute/reference/reference.h"
#include "backend/strategies/strategy.h"
#include "bench/gpu/all_checks.h"
#include "tests/gpu_ranks/small_workloads.h"

namespace spscope::gpu_check {
namespace {

void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

struct RingOf4 {
  Request request = make_request(kSmallWorkloads[0], *find_pattern("sparge"), 4, Dtype::kFp32);
  Plan plan = make_plan(*find_strategy("ring"), request, Parameters(find_strategy("ring")->parameters()));
  Activations activations = generate_activations(request, 1);
  Reference reference{request, activations, VerifyExtent::kFull, 0};
  CheckResult result;

  OpId exchange_of(int rank) const {
    for (OpId id = 0; id < static_cast<OpId>(plan.ops.size()); ++id)
      if (const Op& op = plan.ops[static_cast<std::size_t>(id)];
          op.rank == rank && plan.kind_of(op) == PostKind::kExchange)
        return id;
    return kNone;
  }
  ExecuteResult run(ExecuteOptions options) const {
    options.device = "cuda";
    return execute(plan, request, activations, options);
  }
  void fault(const std::string& what) { result.faults.push_back(what); }

  // The run ends with this error, and the next one is right.
  void expect(const char* what, ErrorCode code, const std::string& pattern, const ExecuteOptions& options = {}) {
    try {
      run(options);
      fault(fmt::format("{}: the run did not fail", what));
    } catch (const Error& error) {
      if (error.code() != code || !std::regex_search(error.what(), std::regex(pattern)))
        fault(fmt::format("{}: it is reported as \"{}\"", what, error.what()));
    }
  }
  void expect_right(const char* after) {
    if (reference.check(run({}).outputs).verdict != Verdict::kPassed)
      fault(fmt::format("results are wrong after {}", after));
  }
};

// Memory of the GPU until none is left.
std::vector<std::unique_ptr<cuda::DeviceMemory>> take_all(const cuda::CudaContext& context, std::int64_t memory_bytes) {
  std::vector<std::unique_ptr<cuda::DeviceMemory>> taken;
  for (std::int64_t bytes = memory_bytes / 2; bytes >= 1024;) {
    try {
      taken.push_back(std::make_unique<cuda::DeviceMemory>(context, static_cast<std::size_t>(bytes)));
    } catch (const Error&) {
      bytes /= 2;
    }
  }
  return taken;
}

}  // namespace

CheckResult check_failures(const CheckContext&) {
  RingOf4 ring;
  ring.expect_right("nothing");
  ExecuteOptions throws;
  const OpId thrower = ring.exchange_of(2);
  throws.before_op = [&](OpId id, const auto&) {
    if (id == thrower) throw std::runtime_error("link down");
  };
  ring.expect("a rank that throws", ErrorCode::kRankFailed, "^rank 2 failed in exchange op .*: link down$", throws);
  ring.expect_right("a rank that throws");

  ExecuteOptions hangs;
  const OpId victim = ring.exchange_of(3);
  hangs.watchdog_seconds = 1;
  hangs.before_op = [&](OpId id, const std::atomic<bool>& stopping) {
    while (id == victim && !stopping) sleep_ms(1);
  };
  ring.expect("a hang", ErrorCode::kRankHung, "^rank 3 made no progress for .* in exchange op ", hangs);
  ring.expect_right("a hang");

  std::atomic<bool> interrupt{false};
  ExecuteOptions long_run;
  long_run.interrupt = &interrupt;
  long_run.repeats = 1000000;
  std::thread user([&] {
    sleep_ms(100);
    interrupt = true;
  });
  ring.expect("an interrupt", ErrorCode::kInterrupted, "", long_run);
  user.join();
  ring.expect_right("an interrupt");

  {
    const cuda::CudaContext context(0);
    const auto all = take_all(context, read_machine().memory_bytes);
    ring.expect("full memory", ErrorCode::kDeviceMemory, "CUDA_ERROR_OUT_OF_MEMORY");
  }
  ring.expect_right("full memory");
  return std::move(ring.result);
}

}  // namespace spscope::gpu_check
