// Every strategy on emulated GPUs: results equal the reference, the bytes that copy engines move are those of the plan,
// memory is within memory_bound(), nothing is written around an allocation, and a repeat takes no memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "backend/execute/execute.h"
#include "backend/execute/reference/reference.h"
#include "backend/schedule/memory.h"
#include "backend/strategies/strategy.h"
#include "tests/conformance/settings.h"
#include "tests/fake_cuda/fake_cuda.h"
#include "tests/gpu_ranks/small_workloads.h"
#include "tests/support/one_sided_plan.h"

namespace spscope {
namespace {

using fake_cuda::FakeCuda;

ExecuteOptions gpu_options() {
  ExecuteOptions options;
  options.device = "cuda";
  options.poison = true;
  options.repeats = 2;
  return options;
}

void expect_times(const Plan& plan, const Timeline& timeline) {
  for (std::size_t id = 0; id < plan.ops.size(); ++id) {
    const OpTimes& t = timeline.ops[id];
    EXPECT_LE(t.post_ns, t.begin_ns) << id;
    EXPECT_LE(t.begin_ns, t.end_ns) << id;
    for (OpId d : plan.deps(plan.ops[id])) EXPECT_LE(timeline.ops[static_cast<std::size_t>(d)].end_ns, t.begin_ns);
  }
}

// The first repeat may allocate, too: all memory is taken before it.
void expect_right(const Plan& plan, const Request& request, const Activations& activations, const Reference& reference,
                  const std::string& gpus) {
  const FakeCuda fake(gpus);
  ExecuteOptions options = gpu_options();
  std::vector<long long> allocations;
  options.on_run = [&](int, int) { allocations.push_back(fake.count("made")); };
  const ExecuteResult result = execute(plan, request, activations, options);
  EXPECT_EQ(reference.check(result.outputs).verdict, Verdict::kPassed);
  EXPECT_EQ(result.traffic.sent, bytes_sent(plan));
  EXPECT_EQ(result.traffic.received, bytes_received(plan));
  const std::vector<std::int64_t> bound = memory_bound(plan);
  for (std::size_t rank = 0; rank < bound.size(); ++rank) EXPECT_LE(result.peak_bytes[rank], bound[rank]) << rank;
  EXPECT_EQ(result.timelines.size(), 2u);
  for (const Timeline& timeline : result.timelines) expect_times(plan, timeline);
  EXPECT_EQ(allocations.front(), allocations.back());
  EXPECT_EQ(fake.fault(), "");
}

// Emulated kernels are slow: all strategies as they are by default, and a seventh of their other settings.
bool runs(const Strategy& strategy, const Parameters& setting, int number) {
  return setting == Parameters(strategy.parameters()) || number % 7 == 0;
}

// The default set: one number that divides nothing, one on nodes of two.
std::vector<int> ranks_of(Dtype dtype) {
  if (!wide_set()) return dtype == Dtype::kFp32 ? std::vector{3} : std::vector{4};
  return dtype == Dtype::kFp32 ? std::vector{1, 3, 8} : std::vector{2, 4};
}

class GpuConformance : public ::testing::TestWithParam<TestedWorkload> {};

TEST_P(GpuConformance, RunsEqualTheReference) {
  const TestedWorkload& workload = GetParam();
  const Pattern& pattern = *find_pattern("sparge");
  int number = 0, plans = 0;
  for (const Dtype dtype : {Dtype::kFp32, Dtype::kBf16}) {
    const Request whole = make_request(workload, pattern, 1, dtype);
    const Activations activations = generate_activations(whole, 11);
    const Reference reference(whole, activations, VerifyExtent::kFull, 0);
    for (const int ranks : ranks_of(dtype)) {
      Request request = make_request(workload, pattern, ranks, dtype);
      define_outputs(request);
      for (const Strategy& strategy : strategies()) {
        for (const Parameters& setting : settings_to_run(strategy, request, false)) {
          if (!runs(strategy, setting, number++)) continue;
          const Plan plan = make_plan(strategy, request, setting);
          if (!cannot_execute(plan, gpu_options()).empty()) continue;
          // Streams of their own, and all in one queue of the hardware, on one GPU or on two.
          const char* const gpus[] = {"", "queues=1", "devices=2 jitter=5", "devices=3 capability=8.0"};
          const char* const chosen = gpus[plans++ % 4];
          SCOPED_TRACE(std::string(strategy.name) + ":" + setting.str() + " on " + std::to_string(ranks) + " ranks, " +
                       std::string(dtype_name(dtype)) + " " + chosen);
          expect_right(plan, request, activations, reference, chosen);
        }
      }
    }
  }
  EXPECT_GT(plans, wide_set() ? 30 : 10);
}

INSTANTIATE_TEST_SUITE_P(All, GpuConformance, ::testing::ValuesIn(kSmallWorkloads),
                         [](const auto& info) { return std::string(info.param.name); });

// Kernels for tensor cores round weights to bf16, which a row feels whose values cancel: of 8,064 rows of 4 channels
// the worst is off by 30 times as much as wide rows are.
TEST(GpuConformance, RowsWhoseValuesCancelArePassed) {
  constexpr TestedWorkload kNarrow{.name = "narrow", .heads = 24, .head_dim = 4, .grid = {3, 7, 16}, .block = 64};
  const Request request = make_request(kNarrow, *find_pattern("sparge"), 1, Dtype::kBf16);
  const Activations activations = generate_activations(request, 11);
  const FakeCuda fake;
  const Strategy& single = *find_strategy("single");
  const Plan plan = make_plan(single, request, Parameters(single.parameters()));
  ExecuteOptions options;
  options.device = "cuda";
  const Verification whole = Reference(request, activations, VerifyExtent::kFull, 0)
                                 .check(execute(plan, request, activations, options).outputs);
  EXPECT_EQ(whole.verdict, Verdict::kPassed);
  EXPECT_GT(whole.max_error, 5e-5) << "no row of this workload needs what the tolerance allows";
}

// One thread for all devices would make every call.
TEST(GpuConformance, EachOfEightDevicesHasAThreadThatEnqueues) {
  const FakeCuda fake("devices=8");
  Request request = make_request(kSmallWorkloads[0], *find_pattern("sparge"), 8, Dtype::kBf16);
  define_outputs(request);
  const Activations activations = generate_activations(request, 11);
  const Strategy& ring = *find_strategy("ring");
  const Plan plan = make_plan(ring, request, Parameters(ring.parameters()));
  ExecuteOptions options = gpu_options();
  options.repeats = 10;
  const ExecuteResult result = execute(plan, request, activations, options);
  EXPECT_EQ(Reference(request, activations, VerifyExtent::kFull, 0).check(result.outputs).verdict, Verdict::kPassed);
  ASSERT_EQ(result.host_post_ns.size(), 8u);
  EXPECT_GT(*std::ranges::min_element(result.host_post_ns), 0);
  EXPECT_EQ(fake.count("modules"), 8);
  long long most = 0;
  const long long all = fake.enqueued(most);
  EXPECT_LE(5 * most, all);
}

// Two nodes of Ulysses 2 and rings of 2 inside, on one GPU and on two.
TEST(GpuConformance, TorusOf2x2x2EqualsTheReference) {
  Request request = make_request(kSmallWorkloads[2], *find_pattern("sparge"), 8, Dtype::kBf16);
  request.ranks_per_node = 4;
  const Activations activations = generate_activations(request, 11);
  const Reference reference(request, activations, VerifyExtent::kFull, 0);
  const Strategy& torus = *find_strategy("torus");
  for (const char* keys : {"kept", "again"})
    for (const char* comm : {"two_sided", "one_sided"}) {
      SCOPED_TRACE(std::string(keys) + ", " + comm);
      Parameters setting(torus.parameters());
      setting.set("ulysses", std::int64_t{4});
      setting.set("keys", std::string(keys));
      setting.set("comm", std::string(comm));
      expect_right(make_plan(torus, request, setting), request, activations, reference,
                   keys[0] == 'k' ? "" : "devices=2 jitter=5");
    }
}

TEST(GpuConformance, OneSidedMovesEqualTheReference) {
  const TestedWorkload& workload = kSmallWorkloads[0];
  for (const Dtype dtype : {Dtype::kFp32, Dtype::kBf16}) {
    const Request request = make_request(workload, *find_pattern("sparge"), 3, dtype);
    const Activations activations = generate_activations(request, 5);
    const Reference reference(request, activations, VerifyExtent::kFull, 0);
    for (const bool pull : {true, false})
      for (const bool barrier : {true, false}) {
        SCOPED_TRACE(std::string(pull ? "pull" : "push") + (barrier ? " with a barrier" : " with signals"));
        expect_right(testing::one_sided_plan(request, pull, barrier), request, activations, reference,
                     "devices=2 jitter=9");
      }
  }
}

}  // namespace
}  // namespace spscope
