// What is said of an event beside its times.
#include "gui/views/timeline/event_facts.h"

#include <gtest/gtest.h>

#include "backend/store/chunk/chunk_codec.h"

namespace spscope::gui {
namespace {

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
