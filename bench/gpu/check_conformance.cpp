// Every strategy on ranks that share one GPU: results equal the reference, the bytes that copy engines move are those
// of the plan, and memory is within memory_bound().
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "backend/execute/execute.h"
#include "backend/execute/reference/reference.h"
#include "backend/schedule/memory.h"
#include "backend/strategies/strategy.h"
#include "bench/gpu/all_checks.h"
#include "tests/conformance/settings.h"
#include "tests/gpu_ranks/small_workloads.h"
#include "tests/support/one_sided_plan.h"

namespace spscope::gpu_check {
namespace {

ExecuteOptions on_gpu() {
  ExecuteOptions options;
  options.device = "cuda";
  options.poison = true;
  options.repeats = 2;
  return options;
}

// What is wrong with a plan's run; "" when nothing is.
std::string fault_of(const Plan& plan, const Request& request, const Activations& activations,
                     const Reference& reference, double& largest_error) {
  const ExecuteResult result = execute(plan, request, activations, on_gpu());
  const Verification verification = reference.check(result.outputs);
  largest_error = std::max(largest_error, verification.max_error);
  if (verification.verdict != Verdict::kPassed)
    return fmt::format("differs from the reference by {:.3g} ({})", verification.max_error, kErrorMetric);
  if (result.traffic.sent != bytes_sent(plan) || result.traffic.received != bytes_received(plan))
    return "moves other bytes than its plan";
  if (!std::ranges::equal(result.peak_bytes, memory_bound(plan), std::less_equal<>()))
    return "takes more memory than its bound";
  return {};
}

struct Tally {
  CheckResult result;
  int plans = 0;
  double largest_error = 0;

  void run(const std::string& name, const Plan& plan, const Request& request, const Activations& activations,
           const Reference& reference) {
    ++plans;
    const std::string fault = fault_of(plan, request, activations, reference, largest_error);
    if (!fault.empty()) result.faults.push_back(name + " " + fault);
  }
  CheckResult take() {
    if (plans == 0) result.faults.emplace_back("no plan ran");
    result.figures = {{"plans", "", double(plans)}, {"largest error of a row", "", largest_error}};
    return std::move(result);
  }
};

// Small ones with odd shapes, and on a real GPU also those of the conformance tests of the CPU.
std::vector<TestedWorkload> workloads_of(bool tiny) {
  std::vector<TestedWorkload> list(std::begin(kSmallWorkloads), std::end(kSmallWorkloads));
  if (tiny)
    list.resize(2);
  else
    std::ranges::copy_if(workloads(), std::back_inserter(list),
                         [](const TestedWorkload& w) { return !w.whole_layer(); });
  return list;
}

}  // namespace

CheckResult check_conformance(const CheckContext& context, int ranks) {
  Tally tally;
  for (const TestedWorkload& workload : workloads_of(context.tiny))
    for (const Dtype dtype : {Dtype::kFp32, Dtype::kBf16}) {
      Request request = make_request(workload, *find_pattern("sparge"), ranks, dtype);
      define_outputs(request);
      const Activations activations = generate_activations(request, 11);
      const Reference reference(request, activations, VerifyExtent::kFull, 0);
      const auto run = [&](const Strategy& strategy, const Request& request) {
        std::vector<Parameters> settings = settings_to_run(strategy, request, false);
        if (context.tiny && settings.size() > 1) settings.resize(1);
        for (const Parameters& setting : settings) {
          const Plan plan = make_plan(strategy, request, setting);
          if (!cannot_execute(plan, on_gpu()).empty()) continue;
          tally.run(fmt::format("{}:{} on {} in {}", strategy.name, setting.str(), workload.name, dtype_name(dtype)),
                    plan, request, activations, reference);
        }
      };
      for (const Strategy& strategy : strategies()) run(strategy, request);
      if (ranks == 8) {  // nodes of two have either Ulysses or rings inside: two nodes of four have both
        request.ranks_per_node = 4;
        run(*find_strategy("torus"), request);
      }
    }
  return tally.take();
}

CheckResult check_one_sided(const CheckContext&) {
  Tally tally;
  for (const Dtype dtype : {Dtype::kFp32, Dtype::kBf16}) {
    const Request request = make_request(kSmallWorkloads[0], *find_pattern("sparge"), 3, dtype);
    const Activations activations = generate_activations(request, 5);
    const Reference reference(request, activations, VerifyExtent::kFull, 0);
    for (const bool pull : {true, false})
      for (const bool barrier : {true, false})
        tally.run(fmt::format("{} with {} in {}", pull ? "pull" : "push", barrier ? "a barrier" : "signals",
                              dtype_name(dtype)),
                  testing::one_sided_plan(request, pull, barrier), request, activations, reference);
  }
  return tally.take();
}

}  // namespace spscope::gpu_check
