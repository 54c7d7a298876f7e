// Memory that ranks take before a run, over the conformance set: what is in use at one time is within memory_bound(),
// and the whole part of a rank, gaps included, is no more than that and what aligning its slots adds.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "backend/base/ids.h"
#include "backend/execute/program/slot_places.h"
#include "backend/schedule/memory.h"
#include "backend/strategies/strategy.h"
#include "tests/conformance/settings.h"
#include "tests/conformance/workloads.h"

namespace spscope {
namespace {

void expect_within_bound(const Plan& plan) {
  const MemoryLayout layout(plan);
  const SlotPlaces places = place_slots(plan, layout, used_slots(plan, layout));
  const std::vector<std::int64_t> bound = memory_bound(plan);
  std::vector<std::int64_t> padding(at(plan.ranks));
  for (SlotId slot = 0; slot < static_cast<SlotId>(layout.slots().size()); ++slot)
    padding[at(layout.slot(slot).rank)] += layout.allocated_bytes(slot) - layout.slot(slot).num_bytes;
  for (int rank = 0; rank < plan.ranks; ++rank) {
    EXPECT_LE(places.live_bytes_of_rank[at(rank)], bound[at(rank)]) << "rank " << rank;
    EXPECT_LE(places.bytes_of_rank[at(rank)], bound[at(rank)] + padding[at(rank)]) << "rank " << rank;
  }
}

class Places : public ::testing::TestWithParam<ConformanceCase> {};

TEST_P(Places, AreWithinTheBoundOfMemory) {
  const TestedWorkload& workload = workloads()[GetParam().workload];
  const Pattern& pattern = patterns()[GetParam().pattern];
  for (const int ranks : rank_counts(workload)) {
    Request request = make_request(workload, pattern, ranks, Dtype::kBf16);
    define_outputs(request);
    for (const Strategy& strategy : strategies())
      for (const Parameters& setting : settings_to_run(strategy, request, true)) {
        SCOPED_TRACE(std::string(strategy.name) + ":" + setting.str() + " on " + std::to_string(ranks) + " ranks");
        expect_within_bound(make_plan(strategy, request, setting));
      }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Places, ::testing::ValuesIn(cases_of("sparge")),
                         [](const auto& info) { return case_name(info.param); });

}  // namespace
}  // namespace spscope
