// Edges that measuring snaps to, against brute force.
#include "gui/views/timeline/time_spans.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "backend/base/rng.h"

namespace spscope::gui {
namespace {

TEST(NearestEdge, IsTheNearestOfAllEdgesOrTheTimeItself) {
  Rng rng(5);
  for (int trial = 0; trial < 500; ++trial) {
    std::vector<TimeSpan> spans;
    std::int64_t reached = 0;
    for (std::int64_t n = rng.below(8); n > 0; --n) {
      const std::int64_t begin = reached + rng.below(20);
      reached = begin + 1 + rng.below(20);
      spans.push_back({begin, reached, kNone, TimePart::kCompute});
    }
    const std::int64_t ns = rng.below(200), most = rng.below(15);
    std::int64_t distance = most + 1;
    for (const TimeSpan& span : spans)
      for (const std::int64_t edge : {span.begin_ns, span.end_ns}) distance = std::min(distance, std::abs(edge - ns));
    const std::int64_t found = nearest_edge(spans, ns, most);
    EXPECT_EQ(std::abs(found - ns), distance <= most ? distance : 0) << trial;
    const bool is_edge = std::ranges::any_of(
        spans, [&](const TimeSpan& span) { return span.begin_ns == found || span.end_ns == found; });
    EXPECT_TRUE(is_edge || (found == ns && distance > most)) << trial;
  }
}

}  // namespace
}  // namespace spscope::gui
