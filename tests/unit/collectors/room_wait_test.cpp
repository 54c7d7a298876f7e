#include "collectors/track_rows.h"

#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "backend/base/clock.h"

namespace spscope {
namespace {

RingRecord work(std::int64_t begin_ns) {
  return RingRecord::of(
      WorkEvent{.span = {.begin_ns = begin_ns, .end_ns = begin_ns + 1, .flags = event_flags(EventCategory::kKernel)}});
}

// Rings of four records, which nobody reads but the test.
struct SmallRings final : TraceSink {
  EventRing& ring(const Track& track, std::size_t) override { return rings.try_emplace(track.name, 4).first->second; }
  NameId name(std::string_view) override { return 0; }
  WorkDetailId detail(const WorkDetail&) override { return 0; }
  void missed(const Track&, std::int64_t, std::int64_t) override {}
  void set_clock(const ClockFit&) override {}
  std::map<std::string, EventRing> rings;
};

class RoomWaitTest : public testing::Test {
 protected:
  TrackRows rows(const std::string& name) { return {sink_, {.kind = TrackKind::kDeviceStream, .name = name}, wait_}; }
  // How long it takes to hand over so much work.
  std::int64_t settle_ns(TrackRows& rows, int count) {
    for (int i = 0; i < count; ++i) rows.add(work(next_ns_++));
    const std::int64_t begin_ns = now_ns();
    rows.settle(kNeverEnded);
    return now_ns() - begin_ns;
  }
  std::size_t read(const std::string& name) {
    EventRing& ring = sink_.rings.at(name);
    const std::size_t count = ring.waiting().size();
    ring.release(count);
    return count;
  }
  SmallRings sink_;
  std::shared_ptr<RoomWait> wait_ = std::make_shared<RoomWait>();
  std::int64_t next_ns_ = 0;
};

TEST_F(RoomWaitTest, OneSecondForAllTracksOfAReaderThatIsGone) {
  std::vector<TrackRows> tracks;
  for (int i = 0; i < 10; ++i) tracks.push_back(rows("stream " + std::to_string(i)));
  std::int64_t first_ns = settle_ns(tracks[0], 8), others_ns = 0;
  for (int i = 1; i < 10; ++i) others_ns += settle_ns(tracks[static_cast<std::size_t>(i)], 8);
  EXPECT_GE(first_ns, 1'000'000'000);
  EXPECT_LT(others_ns, 900'000'000) << "none of them waits once more";
  for (auto& [name, ring] : sink_.rings) EXPECT_EQ(ring.dropped(), 4) << name;
}

TEST_F(RoomWaitTest, AReaderThatComesBackIsWaitedForAgain) {
  TrackRows first = rows("stream 0"), second = rows("stream 1");
  settle_ns(first, 5);
  ASSERT_EQ(read("stream 0"), 4u);
  settle_ns(second, 4);
  std::thread reader([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    read("stream 1");
  });
  settle_ns(second, 1);
  reader.join();
  EXPECT_EQ(sink_.rings.at("stream 1").dropped(), 0);
}

}  // namespace
}  // namespace spscope
