// The small units of gui/views/timeline.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>

#include "backend/base/rng.h"
#include "backend/store/chunk/chunk_codec.h"
#include "gui/views/timeline/event_facts.h"
#include "gui/views/timeline/row_filter.h"
#include "gui/views/timeline/time_spans.h"

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

std::set<int> rows_of(const std::string& text) {
  const auto filter = parse_row_filter(text);
  std::set<int> rows;
  if (!filter) return {-1};
  for (int rank = 0; rank < 32; ++rank)
    if (filter->holds(rank, rank / 8)) rows.insert(rank);
  return rows;
}

TEST(RowFilter, HoldsWhatItNames) {
  EXPECT_EQ(rows_of("").size(), 32u);
  EXPECT_EQ(rows_of(" , ").size(), 32u);
  EXPECT_EQ(rows_of("3"), (std::set<int>{3}));
  EXPECT_EQ(rows_of("0-2,12"), (std::set<int>{0, 1, 2, 12}));
  EXPECT_EQ(rows_of(" rank 5 - 6 , 30"), (std::set<int>{5, 6, 30}));
  EXPECT_EQ(rows_of("node 1"), (std::set<int>{8, 9, 10, 11, 12, 13, 14, 15}));
  EXPECT_EQ(rows_of("node 0-1,31").size(), 17u);
  EXPECT_EQ(rows_of("100"), std::set<int>{});
}

TEST(RowFilter, WhatIsNoneIsAnErrorThatNamesThePart) {
  for (const std::string text : {"x", "1,two", "5-3", "-4", "1-", "node", "node x", "1.5", "99999999999"}) {
    const auto filter = parse_row_filter(text);
    ASSERT_FALSE(filter) << text;
    EXPECT_NE(std::string(filter.error().what()).find('"'), std::string::npos);
  }
}

TEST(RowFilter, AnyTextIsAFilterOrAnError) {
  Rng rng(3);
  const std::string letters = "0123456789-, nodek\t";
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    for (std::int64_t n = rng.below(12); n > 0; --n)
      text += letters[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(letters.size())))];
    const auto filter = parse_row_filter(text);
    if (!filter) continue;
    for (const RowFilter::Range& range : filter->ranges) EXPECT_LE(range.first, range.last);
  }
}

std::string text_of(const RowEvent& event, const WorkDetail& detail = {}) {
  std::string text;
  for (const EventFact& fact : event_facts(event, detail))
    text += (text.empty() ? "" : "; ") + std::string(fact.name) + ": " + fact.value;
  return text;
}

TEST(EventFacts, OfACollectiveAreItsBytesItsNumberAndItsPeer) {
  RowEvent event{.track = TrackId{4}, .kind = RecordKind::kCollective, .bytes = 3'200'000, .sequence = 12};
  EXPECT_EQ(text_of(event), "bytes: 3.20 MB; sequence: 12");
  event.peer = 5;
  EXPECT_EQ(text_of(event), "bytes: 3.20 MB; sequence: 12; peer: rank 5");
  EXPECT_EQ(waited_words(event), "queued");
  event.track.reset();  // a lane: the number is the post of the plan
  EXPECT_EQ(waited_words(event), "waited");
  EXPECT_EQ(text_of(event), "sent: 3.20 MB; peer: rank 5");
}

TEST(EventFacts, OfWorkAreThoseOfItsKind) {
  const RowEvent work{.track = TrackId{4}, .kind = RecordKind::kWork, .correlation = 77, .detail = 1};
  EXPECT_EQ(text_of(work, {.grid = {8, 2, 1},
                           .block = {128, 1, 1},
                           .registers_per_thread = 40,
                           .static_shared_bytes = 1024,
                           .dynamic_shared_bytes = 1024,
                           .device = 0}),
            "grid: 8 x 2 x 1; block: 128 x 1 x 1; registers: 40; shared memory: 2.00 KiB; correlation: 77");
  RowEvent copy = work;
  copy.bytes = 4'096;
  EXPECT_EQ(text_of(copy, {.copy_kind = 10, .source_device = 0, .target_device = 3}),
            "bytes: 4.10 kB; copied: device to device; from, to: GPU 0, GPU 3; correlation: 77");
  EXPECT_EQ(text_of(copy, {.copy_kind = 200}), "bytes: 4.10 kB; copied: kind 200; correlation: 77");
  EXPECT_EQ(text_of(work, {.synchronization_kind = 3}), "waited for: a stream; correlation: 77");
  EXPECT_EQ(text_of({.track = TrackId{4}, .kind = RecordKind::kSpan}), "");
}

}  // namespace
}  // namespace spscope::gui
