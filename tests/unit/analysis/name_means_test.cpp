// Means by name of event, and their changes, worked out by hand from the ring of two_ranks.h.
#include "backend/analysis/name_means.h"

#include <gtest/gtest.h>

#include "tests/unit/analysis/two_ranks.h"

namespace spscope {
namespace {

// The second attend of rank 1 takes 8 ns longer: 4 a rank. Keys move for 40 ns on either rank; the wait before is none
// of it.
TEST(NameChanges, AreOfMeansOverRanksWithoutWaits) {
  const Request request = testing::two_rank_request();
  const Plan plan = testing::two_rank_ring(request);
  const std::vector<NameChange> changes =
      name_changes(plan, testing::two_rank_times(plan), plan, testing::two_rank_times(plan, 8));
  ASSERT_EQ(changes.size(), 3u);
  const auto expect = [&](std::size_t i, const char* name, double from, double to) {
    EXPECT_EQ(changes[i].name, name);
    EXPECT_EQ(changes[i].from_ns, from) << name;
    EXPECT_EQ(changes[i].to_ns, to) << name;
    EXPECT_EQ(changes[i].change_ns, to - from) << name;
  };
  expect(0, "attend", (6 + 30 + 20 + 60) / 2.0, (6 + 30 + 20 + 68) / 2.0);
  expect(1, "exchange kv", 40, 40);
  expect(2, "finish", 10, 10);
}

}  // namespace
}  // namespace spscope
