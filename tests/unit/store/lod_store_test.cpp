// Pyramids: every bucket, and every answer of the reader of a merged file, equals brute force: the definition of a
// bucket written out, one bucket at a time, over all events.
#include "backend/store/pyramid/lod_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "backend/store/merge/merge_shards.h"
#include "backend/store/pyramid/lod_codec.h"
#include "backend/store/pyramid/lod_pyramid.h"
#include "backend/store/store_reader.h"
#include "tests/unit/store/lod_brute_force.h"
#include "tests/unit/store/sample_shards.h"

namespace spscope {
namespace {

using testing::brute_force_strip;
using testing::random_events;
using testing::RandomEvents;
using testing::RankShard;

// A device stream of a rank, and the operations of a communicator, which overlap.
void add_collected(RankShard& shard, int rank, Rng& rng) {
  shard.add_track({.track_id = TrackId{5}, .rank = rank, .kind = TrackKind::kDeviceStream, .name = "stream 7"});
  shard.add_events(kNoRun, TrackId{5}, random_events(rng, {.count = 900, .largest_bits = 11}), 200);
  const RandomEvents foreign{.count = 700, .largest_bits = 13, .overlapping = true};
  shard.add_track(
      {.track_id = TrackId{6}, .rank = rank, .overlapping = true, .kind = TrackKind::kForeign, .name = "NCCL"});
  shard.add_events(kNoRun, TrackId{6}, random_events(rng, foreign), 300);
}

// Two ranks, each with a lane of spans and transfers, one of transfers alone, a sparse one, and one whose spans
// overlap.
std::string file_of_ranks(const TemporaryFolder& folder, std::uint64_t seed, bool has_collectors) {
  const RunId run = testing::write_head(
      folder / "a.head.db", {{0, {.raw_zero_ns = 0, .offset_ns = -70}}, {1, {.raw_zero_ns = 50, .offset_ns = 9}}});
  Rng rng(seed);
  std::vector<std::string> shards = {folder / "a.head.db"};
  for (int rank = 0; rank < 2; ++rank) {
    shards.push_back(folder / ("a.rank-" + std::to_string(rank) + ".db"));
    RankShard shard(shards.back(), rank);
    for (int lane = 0; lane < 4; ++lane)
      shard.add_track({TrackId{lane + 1}, rank, lane, lane == 3 ? 64 : 0, lane == 3});
    for (int name = 1; name < 9; ++name) shard.add_string(static_cast<NameId>(name), "name " + std::to_string(name));
    const RandomEvents dense{.count = rank == 0 ? 400 : 3'000, .largest_bits = 9, .unfinished = false};
    shard.add_events(run, TrackId{1}, random_events(rng, dense), 300);
    shard.add_events(run, TrackId{1}, testing::random_transfers(rng, dense), 300);
    shard.add_events(run, TrackId{2}, testing::random_transfers(rng, {.count = 400, .largest_bits = 11}), 300);
    shard.add_events(run, TrackId{3}, random_events(rng, {.count = 90, .largest_bits = 17}), 700);
    shard.add_events(run, TrackId{4}, random_events(rng, {.count = 300, .largest_bits = 14, .overlapping = true}), 200);
    if (has_collectors) add_collected(shard, rank, rng);
    shard.commit();
  }
  OutputFile out(folder / "out.db", false);
  merge_shards(out, shards, {});
  return folder / "out.db";
}

// All events of some tracks, and what a pyramid of them has to answer.
struct Wanted {
  std::vector<SpanEvent> spans;
  std::vector<CollectiveEvent> transfers;

  void add(const EventReader& events, TrackId track) {
    for (const SpanEvent& span : events.spans(track)) spans.push_back(span);
    for (const CollectiveEvent& transfer : events.collectives(RunId{1}, track)) transfers.push_back(transfer);
  }
  std::vector<LodBucket> buckets(int shift, std::int64_t first, std::int64_t end, std::int64_t until_ns) const {
    std::vector<LodBucket> found = testing::brute_force(spans, shift, first, end, until_ns);
    testing::count_waits(found, transfers, shift, first, until_ns);
    return found;
  }
};

TEST(LodReader, EveryAnswerFromAFileEqualsBruteForce) {
  const TemporaryFolder folder;
  const std::string path = file_of_ranks(folder, 1, true);
  const StoreReader store(path);
  const std::int64_t until_ns =
      testing::MergedFile(path).number("SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'recorded_until_ns'");
  std::map<TrackId, Wanted> tracks;
  std::map<int, Wanted> ranks;  // their lanes
  for (const Track& track : store.events().tracks()) {
    tracks[track.track_id].add(store.events(), track.track_id);
    if (track.lane) ranks[*track.rank].add(store.events(), track.track_id);
  }
  ASSERT_EQ(ranks[1].spans.size(), 3'000u + 3'000 + 400 + 90 + 300);
  ASSERT_EQ(ranks[1].transfers.size(), 3'400u);
  Rng rng(11);
  std::map<int, int> base_shift;
  ASSERT_EQ(store.lod().pyramids().size(), 2u * (3 + 1 + 1 + 1)) << "none of the overlapping track of a lane";
  for (const StoredPyramid& pyramid : store.lod().pyramids()) {
    const Wanted& wanted = pyramid.track ? tracks[*pyramid.track] : ranks[*pyramid.rank];
    if (!pyramid.track) base_shift[*pyramid.rank] = pyramid.base_shift;
    std::array<std::int64_t, kNumEventCategories> busy_ns{};
    for (const LodBucket& side : wanted.buckets(61, -1, 1, until_ns))
      for (std::size_t c = 0; c < busy_ns.size(); ++c) busy_ns[c] += side.busy_ns[c];
    ASSERT_EQ(pyramid.busy_ns(), busy_ns);
    ASSERT_LE(pyramid.widest.buckets.size(), 2u);
    for (int shift = pyramid.base_shift; shift <= 45; ++shift) {
      const SpanEvent& near = wanted.spans[static_cast<std::size_t>(rng.below(std::ssize(wanted.spans)))];
      const std::int64_t first = lod_bucket(near.begin_ns, shift) - rng.below(15), end = first + rng.below(30);
      const std::vector<LodBucket> buckets = wanted.buckets(shift, first, end, until_ns);
      ASSERT_EQ(store.lod().strip(pyramid, shift, first, end), brute_force_strip(buckets, shift))
          << "pyramid " << pyramid.pyramid_id << " shift " << shift;
    }
  }
  for (int shift = 0; shift < 24; shift += 3) {
    std::vector<RowStrip> strips = store.lod().row_strips(shift, -7, 50);
    std::erase_if(strips, [](const RowStrip& row) { return row.track.has_value(); });
    ASSERT_EQ(strips.size(), 2u);
    for (int rank = 0; rank < 2; ++rank) {
      const RowStrip& row = strips[static_cast<std::size_t>(rank)];
      EXPECT_EQ(row.rank, rank);
      const int known = std::max(shift, base_shift[rank]);  // a finer bucket is like the one of the base that covers it
      for (std::int64_t k = -7; k < 50; ++k) {
        const std::int64_t at = k >> (known - shift);
        ASSERT_EQ(row.strip[static_cast<std::size_t>(k + 7)],
                  brute_force_strip(ranks[rank].buckets(known, at, at + 1, until_ns), known).at(0))
            << "shift " << shift << " bucket " << k;
      }
    }
  }
}

TEST(EventReader, EventsOfRanksInAWindowAreThoseOfTheirTracks) {
  const TemporaryFolder folder;
  const StoreReader store(file_of_ranks(folder, 9, false));
  std::vector<RowEvent> all;
  std::int64_t first_ns = kNeverEnded, last_ns = 0;
  for (const Track& track : store.events().tracks()) {
    const std::vector<CollectiveEvent> transfers = store.events().collectives(RunId{1}, track.track_id);
    for (const SpanEvent& span : store.events().spans(track.track_id)) {
      RowEvent event{.span = span,
                     .run = RunId{1},
                     .rank = *track.rank,
                     .lane = *track.lane,
                     .slot = track.slot,
                     .kind = RecordKind::kSpan};
      for (const CollectiveEvent& t : transfers) {
        if (t.span != span) continue;
        event.wait_begin_ns = lod_event(t).wait_begin_ns;
        event.wait_end_ns = lod_event(t).wait_end_ns;
        event.kind = RecordKind::kCollective;
        event.bytes = t.bytes;
        event.sequence = t.sequence;
        event.peer = t.peer;
      }
      all.push_back(event);
      first_ns = std::min(first_ns, span.begin_ns);
      last_ns = std::max(last_ns, next_begin_ns(span));
    }
  }
  EXPECT_EQ(store.events().run_spans(), (std::vector<RunSpan>{{RunId{1}, first_ns, last_ns}}));
  const auto in_order = [](std::vector<RowEvent> events) {
    std::ranges::sort(events, {}, [](const RowEvent& e) {
      return std::tuple(e.rank, e.span.begin_ns, e.lane, e.slot, e.span.op_id, e.span.end_ns, e.span.name, e.span.flags,
                        e.wait_end_ns);
    });
    return events;
  };
  Rng rng(10);
  for (int i = 0; i < 20; ++i) {
    const std::int64_t begin = first_ns + rng.below(last_ns - first_ns);
    const EventWindow window{begin, begin + 1 + rng.below(last_ns - begin + 1)};
    std::vector<RowEvent> wanted = all;
    std::erase_if(wanted, [&](const RowEvent& e) { return !window.holds(e.span); });
    const auto found = store.events().row_events(window, std::ssize(wanted));
    ASSERT_TRUE(found);
    EXPECT_TRUE(
        std::ranges::is_sorted(*found, {}, [](const RowEvent& e) { return std::pair(e.rank, e.span.begin_ns); }));
    ASSERT_EQ(in_order(*found), in_order(wanted));
    if (!wanted.empty()) {
      ASSERT_FALSE(store.events().row_events(window, std::ssize(wanted) - 1));
    }
  }
}

TEST(LodCodec, BlocksComeBackAndDamageIsAnError) {
  Rng rng(6);
  for (int round = 0; round < 40; ++round) {
    std::vector<std::uint8_t> strip(static_cast<std::size_t>(1 + rng.below(3'000)));
    for (std::uint8_t& byte : strip) byte = static_cast<std::uint8_t>(round % 2 == 0 ? rng.below(3) : rng.below(256));
    std::vector<std::uint8_t> data = encode_strip_block(strip);
    EXPECT_EQ(decode_strip_block(std::ssize(strip), data), strip);
    EXPECT_EQ(testing::error_of([&] { decode_strip_block(std::ssize(strip) + 1, data); }).code(),
              ErrorCode::kStoreCorrupt);
    data[static_cast<std::size_t>(rng.below(std::ssize(data)))] ^= 4;
    EXPECT_EQ(testing::error_of([&] { decode_strip_block(std::ssize(strip), data); }).code(), ErrorCode::kStoreCorrupt);
  }
}

using testing::RandomEvents;

TEST(LodLevel, EveryBucketEqualsBruteForce) {
  Rng rng(1);
  for (const RandomEvents& most : {RandomEvents{.count = 400}, RandomEvents{.count = 300, .overlapping = true},
                                   RandomEvents{.count = 60, .largest_bits = 54},  // huge spans and gaps
                                   RandomEvents{.count = 60, .largest_bits = 54, .overlapping = true}})
    for (int round = 0; round < 40; ++round) {
      RandomEvents kind = most;
      kind.count = 1 + static_cast<int>(rng.below(most.count));
      const auto events = testing::random_events(rng, kind);
      const std::int64_t until_ns = testing::last_moment(events);
      for (int shift = lod_base_shift(kind.count, events.front().begin_ns, until_ns); shift <= 61; ++shift) {
        const std::int64_t around =
            lod_bucket(events[static_cast<std::size_t>(rng.below(std::ssize(events)))].begin_ns, shift);
        const std::int64_t furthest = std::int64_t{1} << (62 - shift);  // brute force counts with ends of buckets
        const std::int64_t first = std::max(around - rng.below(20), -furthest),
                           end = std::min(first + 1 + rng.below(40), furthest);
        if (first >= end) continue;
        LodLevel level{shift, first, std::vector<LodBucket>(static_cast<std::size_t>(end - first))};
        add_events(level, events, until_ns);
        ASSERT_EQ(level.buckets, testing::brute_force(events, shift, first, end, until_ns)) << "shift " << shift;
      }
    }
}

TEST(LodLevel, ABaseBucketHasAboutEightEvents) {
  for (const std::int64_t num_events : {100, 4096, 1'000'000}) {
    const int shift = lod_base_shift(num_events, 0, num_events * 1000 - 1);
    const double events_per_bucket = static_cast<double>(std::int64_t{1} << shift) / 1000;
    EXPECT_GE(events_per_bucket, 8);
    EXPECT_LT(events_per_bucket, 16.5);
  }
  EXPECT_EQ(lod_base_shift(10, 5, 5), 0);
  EXPECT_LE(lod_base_shift(1, std::numeric_limits<std::int64_t>::min(), kNeverEnded), kMaxLodShift);
}

}  // namespace
}  // namespace spscope
