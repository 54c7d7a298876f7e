// GPU ranks in processes of their own, on the fake CUDA driver or on real GPUs. Started by MPI; rank 0 judges.
//
//   mpirun -n N gpu_processes [--every N] [--hang | --fail]
//
// Runs the strategies on the small workloads (every Nth plan). --hang, --fail: the driver was told (SPSCOPE_FAKE_CUDA)
// to let a kernel of rank 1 hang or fail, and every process must name that rank and its op.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "backend/base/result.h"
#include "backend/execute/device_environment.h"
#include "backend/execute/execute.h"
#include "backend/execute/reference/reference.h"
#include "backend/schedule/memory.h"
#include "backend/strategies/strategy.h"
#include "tests/conformance/settings.h"
#include "tests/fake_cuda/fake_cuda.h"
#include "tests/gpu_ranks/small_workloads.h"

namespace spscope {
namespace {

ExecuteOptions gpu_options(RankWorld& world) {
  ExecuteOptions options;
  options.device = "cuda";
  options.backend = "mpi";
  options.world = &world;
  options.poison = true;
  options.repeats = 2;
  return options;
}

struct Count {
  int plans = 0, wrong = 0;
};

void run_plan(RankWorld& world, const std::string& name, const Plan& plan, const Request& request,
              const Activations& activations, const Reference& reference, Count& count) {
  const ExecuteResult result = execute(plan, request, activations, gpu_options(world));
  ++count.plans;
  if (world.rank() != 0) return;
  const auto expect = [&](bool holds, const char* what) {
    if (holds) return;
    std::printf("FAILED: %s: %s\n", name.c_str(), what);
    ++count.wrong;
  };
  expect(reference.check(result.outputs).verdict == Verdict::kPassed, "outputs");
  expect(result.traffic.sent == bytes_sent(plan), "bytes sent");
  expect(result.traffic.received == bytes_received(plan), "bytes received");
  const std::vector<std::int64_t> bound = memory_bound(plan);
  for (std::size_t rank = 0; rank < bound.size(); ++rank)
    expect(result.peak_bytes[rank] <= bound[rank], "memory in use");
  expect(result.timelines.size() == 2, "two timelines");
  for (const Timeline& timeline : result.timelines)
    for (const OpTimes& t : timeline.ops) expect(t.post_ns <= t.begin_ns && t.begin_ns <= t.end_ns, "times");
}

int run_strategies(RankWorld& world, int every) {
  Count count;
  int number = 0;
  for (const TestedWorkload& workload : kSmallWorkloads)
    for (const Dtype dtype : {Dtype::kFp32, Dtype::kBf16}) {
      Request request = make_request(workload, *find_pattern("sparge"), world.size(), dtype);
      define_outputs(request);
      const Activations activations = generate_activations(request, 11);
      const Reference reference(request, activations, VerifyExtent::kFull, 0);
      for (const Strategy& strategy : strategies())
        for (const Parameters& setting : settings_to_run(strategy, request, false)) {
          const Plan plan = make_plan(strategy, request, setting);
          if (!cannot_execute(plan, gpu_options(world)).empty() || number++ % every != 0) continue;
          run_plan(world, std::string(workload.name) + " " + std::string(strategy.name) + ":" + setting.str(), plan,
                   request, activations, reference, count);
        }
    }
  const std::string fault = fake_cuda::fault_so_far();
  if (!fault.empty()) std::printf("FAILED: rank %d: %s\n", world.rank(), fault.c_str());
  const bool faults = world.any(!fault.empty());
  if (world.rank() == 0) std::printf("%d plans on %d processes: %d wrong\n", count.plans, world.size(), count.wrong);
  return count.wrong == 0 && count.plans > 0 && !faults ? 0 : 1;
}

int run_failing(RankWorld& world, bool hangs) {
  const Request request = make_request(kSmallWorkloads[0], *find_pattern("sparge"), world.size(), Dtype::kFp32);
  const Plan plan = make_plan(*find_strategy("ring"), request, Parameters(find_strategy("ring")->parameters()));
  ExecuteOptions options = gpu_options(world);
  options.watchdog_seconds = hangs ? 2 : 60;
  options.grace_seconds = 0.5;
  const auto result = capture([&] { return execute(plan, request, generate_activations(request, 1), options); });
  const std::string text = result ? "nothing was thrown" : result.error().what();
  std::printf("rank %d: %s\n", world.rank(), text.c_str());
  std::fflush(stdout);
  const bool right = text.starts_with(hangs ? "rank 1 made no progress for " : "rank 1 failed in attend op ") &&
                     text.find("attend op") != std::string::npos;
  // A thread that follows a kernel without an end cannot be ended but with the process.
  if (hangs && !world.leave_together(4)) world.abort(right ? "" : "rank 1 is not named");
  return right ? 0 : 1;
}

int run(int argc, char** argv) {
  int every = 1;
  std::string_view fault;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--hang" || name == "--fail") fault = name;
    if (name == "--every" && i + 1 < argc) every = std::atoi(argv[++i]);
  }
  const std::unique_ptr<RankWorld> world = start_mpi_world({});
  try {
    return fault.empty() ? run_strategies(*world, every) : run_failing(*world, fault == "--hang");
  } catch (const Error& error) {
    world->abort(render(error));
  }
  return 1;
}

}  // namespace
}  // namespace spscope

int main(int argc, char** argv) {
  spscope::set_device_environment();
  return spscope::run(argc, argv);
}
