// How large plans for many ranks are, and that making, verifying and scheduling them ends when it is asked to.
#include "backend/job/plan_size.h"

#include <gmock/gmock.h>

#include <atomic>
#include <functional>

#include "backend/base/result.h"
#include "backend/base/stop_point.h"
#include "backend/job/pick_settings.h"
#include "backend/job/planned_layer.h"
#include "backend/plan/verify.h"
#include "backend/schedule/memory.h"

namespace spscope {
namespace {

using ::testing::HasSubstr;

Decision with_degrees(int ulysses, int ring) {
  Decision decision;
  decision.ulysses = ulysses;
  decision.ring = ring;
  return decision;
}

TEST(PlanSize, GrowsWithThePairsOfRanksThatMeet) {
  Request request;
  request.ranks = 8;
  const PlanSize size = plan_size(with_degrees(2, 4), request);
  EXPECT_DOUBLE_EQ(size.seconds, 8 * 6 * 15e-6);
  EXPECT_EQ(size.bytes, 8 * 6 * 600);
  EXPECT_EQ(plan_size({}, request).bytes, 0) << "its degrees do not say whom a rank meets";
  request.ranks = 1 << 20;
  const auto refused = failure_of([&] { require_room_for_plan("ring", with_degrees(1, 1 << 20), request); });
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code(), ErrorCode::kPlanTooLarge);
  EXPECT_THAT(refused->what(), HasSubstr("at least 600 TiB of memory, and this machine has"));
  request.ranks = 256;
  EXPECT_FALSE(failure_of([&] { require_room_for_plan("ring", with_degrees(1, 256), request); }));
}

TEST(PlanSize, LongPlanningIsSaid) {
  EXPECT_EQ(planning_note("planning", 1024, 19), "");
  EXPECT_THAT(planning_note("planning", 2048, 61), HasSubstr("planning for 2,048 ranks takes about 70 s; Ctrl-C"));
  EXPECT_THAT(planning_note("planning", 2048, 600), HasSubstr("about 10 min"));
  EXPECT_THAT(planning_note("planning", 4096, 1e5), HasSubstr("about 28 h"));
}

TEST(StopPoint, EndsEachStepOfALongSimulation) {
  const Job job = load_job({"", {"ring"}, {"run.mode=simulate", "cluster.preset=a800x8", "model.grid=4,12,12"}});
  const ActivationSource activations(job);
  MaskSource masks(job, activations);
  const Request request = sample_requests(job, masks).front();
  const ChosenStrategy& ring = job.strategies.front();
  LayerDecision decision;
  decision.decision = ring.strategy->decide(request, ring.parameters);
  const Plan plan = make_plan(*ring.strategy, request, ring.parameters, decision.decision);
  const std::function<void()> steps[] = {
      [&] { make_plan(*ring.strategy, request, ring.parameters, decision.decision); },
      [&] { verify(plan, request); },
      [&] { memory_bound(plan); },
      [&] { traffic_of(plan, request); },
      [&] { scheduled_ns(job, plan); },
      [&] { plan_layer(ring, request, decision); }};
  std::atomic<bool> stop = false;
  const StopScope asks(&stop);
  for (const bool stops : {false, true})
    for (std::size_t step = 0; step < std::size(steps); ++step) {
      stop = stops;
      const auto failure = failure_of(steps[step]);
      EXPECT_EQ(failure && failure->code() == ErrorCode::kInterrupted, stops) << step;
      const StopScope goes_on(nullptr);
      EXPECT_FALSE(failure_of(steps[step])) << step;
    }
}

}  // namespace
}  // namespace spscope
