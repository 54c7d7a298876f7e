// Edges that measuring snaps to, and rows of what overlaps, against brute force.
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

// Nothing is lost, nothing overlaps, and one row more is used only where all before are taken.
TEST(Spread, EachBoxHasARowOrIsHiddenWithOthers) {
  Rng rng(7);
  for (int trial = 0; trial < 400; ++trial) {
    std::vector<TimeBox> boxes;
    std::vector<SpanEvent> events;
    std::int64_t begin = 0;
    for (OpId n = 0; n < static_cast<OpId>(1 + rng.below(30)); ++n) {
      begin += rng.below(6);
      const std::int64_t end = begin + 1 + rng.below(12);
      const std::int64_t wait = rng.below(3) == 0 ? begin + rng.below(end - begin + 1) : begin;
      boxes.push_back({begin, end, begin, wait, n, TimePart::kWire, TimePart::kQueued});
      events.push_back({begin, end});
    }
    std::int64_t together = 0;
    for (const SpanEvent& event : events)
      together = std::max(together, std::int64_t{std::ranges::count_if(events, [&](const SpanEvent& other) {
                            return other.begin_ns <= event.begin_ns && event.begin_ns < other.end_ns;
                          })});
    ASSERT_EQ(most_at_once(events, 1'000), together);
    ASSERT_EQ(most_at_once(events, 3), std::min<std::int64_t>(together, 3));
    const int rows = 1 + static_cast<int>(rng.below(5));
    const SpreadSpans found = spread(boxes, rows);
    ASSERT_EQ(found.rows.size(), static_cast<std::size_t>(rows));
    ASSERT_TRUE(together > rows || found.hidden.empty());
    std::vector<std::int64_t> shown(boxes.size(), 0);
    for (const std::vector<TimeSpan>& row : found.rows) {
      std::int64_t until = 0;
      for (const TimeSpan& span : row) {
        ASSERT_GE(span.begin_ns, until);
        until = span.end_ns;
        if (span.hidden == 0) {
          shown[static_cast<std::size_t>(span.op)] += span.end_ns - span.begin_ns;
          const TimeBox& box = boxes[static_cast<std::size_t>(span.op)];
          ASSERT_EQ(span.part, span.begin_ns < box.wait_end_ns ? TimePart::kQueued : TimePart::kWire);
          continue;
        }
        ASSERT_EQ(&row, &found.rows.back());
        for (const OpId op : found.hidden[static_cast<std::size_t>(span.hidden) - 1]) {
          const TimeBox& box = boxes[static_cast<std::size_t>(op)];
          ASSERT_TRUE(span.begin_ns <= box.begin_ns && box.end_ns <= span.end_ns);
          ASSERT_EQ(shown[static_cast<std::size_t>(op)], 0);
          shown[static_cast<std::size_t>(op)] = box.end_ns - box.begin_ns;
        }
      }
    }
    for (std::size_t i = 0; i < boxes.size(); ++i) ASSERT_EQ(shown[i], boxes[i].end_ns - boxes[i].begin_ns) << i;
  }
}

}  // namespace
}  // namespace spscope::gui
