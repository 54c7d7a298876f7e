// What the timeline of a run in progress shows of the events that are committed.
#include "gui/launch/live_strips.h"

#include <gtest/gtest.h>

#include <tuple>

#include "tests/unit/store/two_ranks.h"

namespace spscope::gui {
namespace {

class LiveStripsOfRun : public testing::TwoRanks {
 protected:
  void SetUp() override {
    TwoRanks::SetUp();
    write_ranks();
    EXPECT_EQ(live_.poll(shards()), 15'000);
  }
  const LiveTrack& track(int rank) const { return *live_.tracks().at(static_cast<std::size_t>(rank)); }
  // Each bucket of a picture is that of brute force over the same events.
  void expect_brute_force(const LivePicture& picture) const {
    ASSERT_EQ(picture.rows.size(), 2U);
    for (const LiveStrip& strip : picture.rows) {
      const std::int64_t end = picture.first_bucket + std::ssize(strip.strip);
      const std::vector<LodBucket> buckets =
          testing::brute_force(track(strip.rank).spans, picture.shift, picture.first_bucket, end, picture.until_ns);
      EXPECT_EQ(strip.strip, testing::brute_force_strip(buckets, picture.shift));
      ASSERT_EQ(strip.longest.size(), buckets.size());
      for (std::size_t i = 0; i < buckets.size(); ++i) {
        ASSERT_EQ(strip.longest[i].has_value(), buckets[i].longest.has_value());
        if (!buckets[i].longest) continue;
        EXPECT_EQ(picture.name(*strip.longest[i]), live_.name(buckets[i].longest->name));
        EXPECT_EQ(strip.longest[i]->begin_ns, buckets[i].longest->begin_ns);
      }
    }
  }

  LiveEvents live_;
};

TEST_F(LiveStripsOfRun, AllThereIs) {
  const LivePicture picture = live_picture(live_, {.follow = true, .columns = 200});
  EXPECT_EQ(picture.events, 15'000);
  EXPECT_EQ(picture.first_ns, std::min(track(0).spans.front().begin_ns, track(1).spans.front().begin_ns));
  EXPECT_EQ(picture.until_ns, live_.recorded_until_ns());
  EXPECT_LE(picture.rows.at(0).strip.size(), 200U);
  EXPECT_GT(picture.rows.at(0).strip.size(), 90U);  // with half the shift they would be too many
  expect_brute_force(picture);
}

TEST_F(LiveStripsOfRun, AWindowThatFollowsEndsAtTheNewestEvent) {
  const auto all = static_cast<double>(live_.recorded_until_ns() - live_picture(live_, {}).first_ns);
  const LivePicture picture = live_picture(live_, {.follow = true, .span_ns = all / 50, .columns = 300});
  const std::int64_t end = picture.first_bucket + std::ssize(picture.rows.at(0).strip);
  EXPECT_EQ(lod_bucket(picture.until_ns - 1, picture.shift), end - 1);
  EXPECT_LT(static_cast<double>(std::int64_t{1} << picture.shift), all / 50 / 140);  // much closer than all
  expect_brute_force(picture);
}

TEST_F(LiveStripsOfRun, AWindowThatStandsStill) {
  const LivePicture whole = live_picture(live_, {});
  const auto all = static_cast<double>(whole.until_ns - whole.first_ns);
  const LiveWindow window{.follow = false, .begin_ns = all / 4, .span_ns = all / 8, .columns = 100};
  const LivePicture picture = live_picture(live_, window);
  EXPECT_EQ(picture.first_bucket, lod_bucket(whole.first_ns + static_cast<std::int64_t>(all / 4), picture.shift));
  expect_brute_force(picture);
  // One behind the last event shows the last there are.
  const LivePicture behind = live_picture(live_, {.follow = false, .begin_ns = 2 * all, .span_ns = all / 8});
  EXPECT_LE(lod_begin_ns(behind.first_bucket, behind.shift), whole.until_ns);
  expect_brute_force(behind);
}

// Of 15,000 events 2,000 are held, or fewer, however many there were: the picture of all is the same, and in the newest
// part it is as close as ever.
TEST_F(LiveStripsOfRun, ALongRunIsHeldInPart) {
  LiveEvents few(2'000);
  const auto held = [&] {
    std::int64_t sum = 0;
    for (const LiveTrack* track : few.tracks()) sum += std::ssize(track->spans) + std::ssize(track->collectives);
    return sum;
  };
  ASSERT_EQ(few.poll(shards()), 15'000);
  EXPECT_LE(held(), 2'000);
  EXPECT_EQ(few.poll(shards()), 0);
  for (const LiveTrack* track : few.tracks()) EXPECT_LE(track->older.buckets.size(), 1'024U);
  const auto expect_same = [](const LivePicture& found, const LivePicture& wanted) {
    EXPECT_EQ(found.events, wanted.events);
    EXPECT_EQ(found.first_ns, wanted.first_ns);
    EXPECT_EQ(found.until_ns, wanted.until_ns);
    ASSERT_EQ(found.rows.size(), wanted.rows.size());
    for (std::size_t r = 0; r < found.rows.size(); ++r) EXPECT_EQ(found.rows[r].strip, wanted.rows[r].strip);
  };
  const LiveWindow all{.columns = 200};
  expect_same(live_picture(few, all), live_picture(live_, all));
  const LivePicture whole = live_picture(live_, all);
  const auto length = static_cast<double>(whole.until_ns - whole.first_ns);
  const LiveWindow newest{.span_ns = length / 200, .columns = 500};
  expect_same(live_picture(few, newest), live_picture(live_, newest));
  // Closer than what is known of old events: busy all the same, about as much.
  const LiveWindow old{.follow = false, .begin_ns = length / 4, .span_ns = length / 50, .columns = 500};
  const auto busy = [&](const LiveEvents& events) {
    double sum = 0;
    for (const LiveStrip& strip : live_picture(events, old).rows)
      for (const std::uint8_t byte : strip.strip) sum += byte & 15;
    return sum;
  };
  ASSERT_GT(busy(live_), 0);
  EXPECT_NEAR(busy(few) / busy(live_), 1, 0.25);
}

// Streams stand behind the lanes of their rank, and a program of which only those are seen has rows, too.
TEST_F(LiveStripsOfRun, WhatCollectorsSeeHasRows) {
  write_streams();
  std::vector<std::string> all = shards();
  all.insert(all.end(), {stream_of(0), stream_of(1)});
  EXPECT_EQ(live_.poll(all), 4'000);
  const LivePicture picture = live_picture(live_, {});
  EXPECT_EQ(picture.events, 19'000);
  using Row = std::tuple<int, std::string, std::string>;
  std::vector<Row> rows;
  for (const LiveStrip& strip : picture.rows) rows.emplace_back(strip.rank, strip.track, strip.label);
  EXPECT_EQ(rows, (std::vector<Row>{
                      {0, "", "rank 0"}, {0, "stream 7", "stream 7"}, {1, "", "rank 1"}, {1, "stream 7", "stream 7"}}));
  EXPECT_EQ(picture.rows.at(1).categories, 1U << static_cast<int>(EventCategory::kKernel));
  EXPECT_NE(picture.rows.at(0).categories, picture.rows.at(1).categories);

  LiveEvents observed;
  EXPECT_EQ(observed.poll(std::vector<std::string>{folder_ / "a.head.db", stream_of(0), stream_of(1)}), 4'000);
  const LivePicture alone = live_picture(observed, {});
  EXPECT_EQ(alone.events, 4'000);
  ASSERT_EQ(alone.rows.size(), 2U);
  for (const LiveStrip& strip : alone.rows) {
    EXPECT_EQ(strip.categories, 1U << static_cast<int>(EventCategory::kKernel));
    EXPECT_EQ(strip.track, "stream 7");
    EXPECT_EQ(strip.label, "rank " + std::to_string(strip.rank) + ", stream 7");
    for (const std::optional<SpanEvent>& event : strip.longest) EXPECT_TRUE(!event || alone.name(*event) == "gemm");
  }
}

TEST(LivePicture, OfNoEventsIsEmpty) {
  const LivePicture picture = live_picture(LiveEvents(), {});
  EXPECT_EQ(picture.events, 0);
  EXPECT_TRUE(picture.rows.empty());
}

TEST(LivePicture, NamesLiveAsLongAsThePicture) {
  LivePicture picture;
  picture.names = {"attend"};
  SpanEvent event{};
  event.name = 0;
  EXPECT_EQ(picture.name(event), "attend");
  EXPECT_EQ(picture.name(event).data(), picture.names[0].data());  // no copy's, which is gone
  event.name = 1;
  EXPECT_EQ(picture.name(event), "");
}

}  // namespace
}  // namespace spscope::gui
