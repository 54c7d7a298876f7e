// The pyramids of a merged file: every answer of the reader, stored or counted anew, equals brute force over the events
// of the file.
#include "backend/store/pyramid/lod_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "backend/store/merge/merge_shards.h"
#include "backend/store/pyramid/lod_codec.h"
#include "backend/store/store_reader.h"
#include "tests/unit/store/lod_brute_force.h"
#include "tests/unit/store/sample_shards.h"

namespace spscope {
namespace {

using testing::brute_force;
using testing::brute_force_strip;
using testing::MergedFile;
using testing::RankShard;

// A rank with three lanes: a dense one, a sparse one, and one whose events overlap; a device stream of it; and last the
// operations of a communicator, which overlap too.
std::string merged_file(const TemporaryFolder& folder, std::uint64_t seed) {
  const RunId run = testing::write_head(folder / "a.head.db", {{0, {.raw_zero_ns = 100, .offset_ns = -5'000}}});
  Rng rng(seed);
  {
    RankShard shard(folder / "a.rank-0.db", 0);
    const testing::RandomEvents kinds[] = {
        {.count = 3'000, .largest_bits = 9, .unfinished = false},
        {.count = 90, .largest_bits = 17, .unfinished = true},
        {.count = 400, .largest_bits = 14, .overlapping = true, .unfinished = false}};
    for (int lane = 0; lane < 3; ++lane) {
      const TrackId track{lane + 1};
      shard.add_track({track, 0, lane, lane == 2 ? 64 : 0, lane == 2});
      for (int name = 1; name < 9; ++name) shard.add_string(static_cast<NameId>(name), "name " + std::to_string(name));
      shard.add_events(run, track, testing::random_events(rng, kinds[lane]), 700);
    }
    shard.add_track({.track_id = TrackId{4}, .rank = 0, .kind = TrackKind::kDeviceStream, .name = "stream 7"});
    shard.add_events(kNoRun, TrackId{4}, testing::random_events(rng, {.count = 900, .largest_bits = 11}), 200);
    shard.add_track(
        {.track_id = TrackId{5}, .rank = 0, .overlapping = true, .kind = TrackKind::kForeign, .name = "NCCL"});
    shard.add_events(kNoRun, TrackId{5},
                     testing::random_events(rng, {.count = 700, .largest_bits = 13, .overlapping = true}), 300);
    shard.commit();
  }
  OutputFile out(folder / "out.db", false);
  merge_shards(out, std::vector<std::string>{folder / "a.head.db", folder / "a.rank-0.db"}, {});
  return folder / "out.db";
}

void expect_pyramid_is_brute_force(const LodReader& reader, const StoredPyramid& pyramid,
                                   const std::vector<SpanEvent>& events, std::int64_t until_ns, Rng& rng) {
  for (int shift = pyramid.base_shift; shift <= 45; ++shift)
    for (int round = 0; round < 4; ++round) {
      const std::int64_t first =
          lod_bucket(events[static_cast<std::size_t>(rng.below(std::ssize(events)))].begin_ns, shift) - rng.below(30);
      const std::int64_t end = first + rng.below(60);
      ASSERT_EQ(reader.buckets(pyramid, shift, first, end), brute_force(events, shift, first, end, until_ns))
          << "pyramid " << pyramid.pyramid_id << " shift " << shift;
      ASSERT_EQ(reader.strip(pyramid, shift, first, end), brute_force_strip(events, shift, first, end, until_ns))
          << "pyramid " << pyramid.pyramid_id << " shift " << shift;
    }
}

TEST(LodReader, EveryAnswerFromAFileEqualsBruteForce) {
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    const TemporaryFolder folder;
    const std::string path = merged_file(folder, seed);
    MergedFile file(path);
    std::vector<SpanEvent> tracks[5], lanes;
    for (int lane = 0; lane < 3; ++lane) {
      tracks[lane] = file.events(0, lane);
      lanes.insert(lanes.end(), tracks[lane].begin(), tracks[lane].end());
    }
    tracks[3] = file.events_of("s.name = 'stream 7'");
    tracks[4] = file.events_of("s.name = 'NCCL'");
    ASSERT_EQ(std::ssize(tracks[4]), 700);
    const std::int64_t until_ns = std::stoll(file.text("SELECT value FROM meta WHERE key = 'recorded_until_ns'"));
    const LodReader reader(file.db);
    ASSERT_EQ(reader.pyramids().size(), 5u);  // none of the overlapping track of a lane
    Rng rng(seed + 10);
    for (const StoredPyramid& pyramid : reader.pyramids()) {
      const std::int64_t track = pyramid.track ? static_cast<std::int64_t>(*pyramid.track) : 0;
      expect_pyramid_is_brute_force(reader, pyramid, track == 0 ? lanes : tracks[track - 1], until_ns, rng);
    }
  }
}

TEST(LodReader, EverySecondShiftIsStoredAndAStripOfEach) {
  const TemporaryFolder folder;
  MergedFile file(merged_file(folder, 4));
  const LodReader reader(file.db);
  for (const StoredPyramid& pyramid : reader.pyramids()) {
    const std::string of_track = " WHERE pyramid_id = " + std::to_string(pyramid.pyramid_id);
    Statement levels(file.db, "SELECT DISTINCT shift FROM lod_level" + of_track + " ORDER BY shift");
    const int first = pyramid.base_shift + 2;
    int wanted = first;
    for (; levels.step(); wanted += 2) EXPECT_EQ(levels.count(0), wanted);
    EXPECT_GT(wanted, first);
    Statement strips(file.db, "SELECT DISTINCT shift FROM lod_strip" + of_track + " ORDER BY shift");
    for (int shift = pyramid.base_shift; strips.step(); ++shift) EXPECT_EQ(strips.count(0), shift);
  }
}

// Two ranks with spans and transfers on a lane each.
std::string file_with_transfers(const TemporaryFolder& folder, std::uint64_t seed) {
  const RunId run = testing::write_head(
      folder / "a.head.db", {{0, {.raw_zero_ns = 0, .offset_ns = -70}}, {1, {.raw_zero_ns = 50, .offset_ns = 9}}});
  Rng rng(seed);
  std::vector<std::string> shards = {folder / "a.head.db"};
  for (int rank = 0; rank < 2; ++rank) {
    shards.push_back(folder / ("a.rank-" + std::to_string(rank) + ".db"));
    RankShard shard(shards.back(), rank);
    for (int lane = 0; lane < 2; ++lane) {
      const TrackId track{lane + 1};
      const testing::RandomEvents kind{.count = rank == 0 ? 400 : 3'000, .largest_bits = 11, .unfinished = lane == 1};
      shard.add_track({track, rank, lane, 0, false});
      if (lane == 0) shard.add_events(run, track, testing::random_events(rng, kind), 300);
      shard.add_events(run, track, testing::random_transfers(rng, kind), 300);
    }
    shard.commit();
  }
  OutputFile out(folder / "out.db", false);
  merge_shards(out, shards, {});
  return folder / "out.db";
}

TEST(LodReader, WaitsOfTransfersAndStripsOfAllRanksEqualBruteForce) {
  const TemporaryFolder folder;
  const std::string path = file_with_transfers(folder, 8);
  MergedFile file(path);
  const std::int64_t until_ns = std::stoll(file.text("SELECT value FROM meta WHERE key = 'recorded_until_ns'"));
  const StoreReader store(path);
  const LodReader& reader = store.lod();
  std::vector<std::vector<SpanEvent>> spans(2);
  std::vector<std::vector<CollectiveEvent>> transfers(2);
  for (const Track& track : store.events().tracks()) {
    const auto rank = static_cast<std::size_t>(*track.rank);
    for (const SpanEvent& span : store.events().spans(track.track_id)) spans[rank].push_back(span);
    for (const RunId run : {RunId{1}})
      for (const CollectiveEvent& transfer : store.events().collectives(run, track.track_id))
        transfers[rank].push_back(transfer);
  }
  ASSERT_EQ(spans[1].size(), 9'000u);
  ASSERT_EQ(transfers[1].size(), 6'000u);
  const auto wanted = [&](std::size_t rank, int shift, std::int64_t first, std::int64_t end) {
    std::vector<LodBucket> buckets = brute_force(spans[rank], shift, first, end, until_ns);
    testing::count_waits(buckets, transfers[rank], shift, first, until_ns);
    return buckets;
  };
  std::map<std::size_t, int> base_shift;
  for (const StoredPyramid& pyramid : reader.pyramids()) {
    if (pyramid.track) continue;
    const auto rank = static_cast<std::size_t>(*pyramid.rank);
    base_shift[rank] = pyramid.base_shift;
    for (int shift = pyramid.base_shift; shift < pyramid.base_shift + 12; ++shift)
      ASSERT_EQ(reader.buckets(pyramid, shift, -3, 40), wanted(rank, shift, -3, 40)) << "shift " << shift;
  }
  ASSERT_EQ(base_shift.size(), 2u);
  for (int shift = 0; shift < 24; ++shift) {
    const std::vector<RowStrip> strips = reader.row_strips(shift, -7, 50);
    ASSERT_EQ(strips.size(), 2u);
    for (std::size_t rank = 0; rank < 2; ++rank) {
      EXPECT_EQ(strips[rank].rank, static_cast<int>(rank));
      const int known = std::max(shift, base_shift[rank]);  // a finer bucket is like the one of the base that covers it
      for (std::int64_t k = -7; k < 50; ++k) {
        const std::int64_t at = k >> (known - shift);
        ASSERT_EQ(strips[rank].strip[static_cast<std::size_t>(k + 7)],
                  brute_force_strip(wanted(rank, known, at, at + 1), known).at(0))
            << "shift " << shift << " bucket " << k;
      }
    }
  }
}

TEST(EventReader, EventsOfRanksInAWindowAreThoseOfTheirTracks) {
  const TemporaryFolder folder;
  const StoreReader store(file_with_transfers(folder, 9));
  std::vector<RowEvent> all;
  std::int64_t first_ns = kNeverEnded, last_ns = 0;
  for (const Track& track : store.events().tracks()) {
    const std::vector<CollectiveEvent> transfers = store.events().collectives(RunId{1}, track.track_id);
    for (const SpanEvent& span : store.events().spans(track.track_id)) {
      RowEvent event{
          .span = span, .run = RunId{1}, .rank = *track.rank, .lane = *track.lane, .kind = RecordKind::kSpan};
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
    const auto events = testing::random_events(rng, {.count = 300, .largest_bits = 20, .overlapping = round % 2 == 0});
    LodLevel level = make_lod_level(14, events.front().begin_ns, events.front().begin_ns + 3'000'000);
    add_events(level, events, testing::last_moment(events));
    std::vector<std::uint8_t> data = encode_level_block(14, level.first_bucket, level.buckets);
    const auto num = std::ssize(level.buckets);
    EXPECT_EQ(decode_level_block(14, level.first_bucket, num, data), level.buckets);
    EXPECT_EQ(testing::error_of([&] { decode_level_block(14, level.first_bucket, num + 1, data); }).code(),
              ErrorCode::kStoreCorrupt);
    data[static_cast<std::size_t>(rng.below(std::ssize(data)))] ^= 4;
    EXPECT_EQ(testing::error_of([&] { decode_level_block(14, level.first_bucket, num, data); }).code(),
              ErrorCode::kStoreCorrupt);
    const std::vector<std::uint8_t> strip = lod_strip(level);
    EXPECT_EQ(decode_strip_block(std::ssize(strip), encode_strip_block(strip)), strip);
  }
}

}  // namespace
}  // namespace spscope
