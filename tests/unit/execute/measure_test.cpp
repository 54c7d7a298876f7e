// measure() times compute only, on the work that each rank really has.
#include <gtest/gtest.h>

#include "backend/execute/cpu/measure.h"
#include "tests/unit/execute/execute_cases.h"

namespace spscope {
namespace {

using testing::plan_of;
using testing::small_request;

TEST(Measure, ComputeHasTimesAndCommunicationHasNone) {
  for (const MeasureLoad load : {MeasureLoad::kAlone, MeasureLoad::kLoaded})
    for (const char* strategy : {"single", "ulysses", "ring"}) {
      const Request request = small_request(4);
      const Plan plan = plan_of(request, strategy);
      MeasureOptions options;
      options.load = load;
      const std::vector<std::int64_t> ns = measure(plan, request, generate_activations(request, 1), options);
      ASSERT_EQ(ns.size(), plan.ops.size());
      for (std::size_t i = 0; i < ns.size(); ++i)
        EXPECT_EQ(ns[i] > 0, !communicates(plan.kind_of(plan.ops[i]))) << strategy << " op " << i;
    }
}

// Head 0 attends to everything, head 1 to one block of 32: rank 0 has 32 times the work of rank 1.
TEST(Measure, ARankWithMoreTilesTakesLonger) {
  BlockMask mask(2, BlockMask::uniform_starts(1024, 32));
  for (std::int32_t q = 0; q < 32; ++q)
    for (std::int32_t k = 0; k < 32; ++k) mask.set(0, q, k);
  for (std::int32_t q = 0; q < 32; ++q) mask.set(1, q, q);
  const Request request = Request::attention(2, 2, 64, std::move(mask), Dtype::kFp32);
  const Plan plan = plan_of(request, "ulysses");
  const std::vector<std::int64_t> ns = measure(plan, request, generate_activations(request, 1));
  std::int64_t by_rank[2] = {0, 0};
  for (std::size_t i = 0; i < ns.size(); ++i)
    if (plan.kind_of(plan.ops[i]) == PostKind::kAttend) by_rank[plan.ops[i].rank] += ns[i];
  EXPECT_GT(by_rank[0], 4 * by_rank[1]);
}

TEST(Measure, AnInterruptStopsBothCores) {
  const Request request = small_request(2);
  std::atomic<bool> interrupt{true};
  for (const MeasureLoad load : {MeasureLoad::kAlone, MeasureLoad::kLoaded}) {
    MeasureOptions options;
    options.load = load;
    options.interrupt = &interrupt;
    EXPECT_THROW(measure(plan_of(request, "ring"), request, generate_activations(request, 1), options), Error);
  }
}

}  // namespace
}  // namespace spscope
