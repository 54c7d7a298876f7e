// What lanes push reaches the shard in order, soon, and never in part; what cannot be written is counted.
#include "backend/collect/shard_writer.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <new>
#include <thread>

#include "backend/base/result.h"
#include "backend/store/chunk/event_reader.h"
#include "backend/store/sqlite/sqlite.h"
#include "tests/support/temporary_folder.h"

namespace spscope {
namespace {

// Event i of a lane: its times and op follow from its number.
RingRecord record_of(std::int64_t i, RunId run = RunId{1}) {
  RingRecord record;
  record.span = {10 * i, 10 * i + 7, i, 0, event_flags(EventCategory::kAttend)};
  record.run = run;
  if (i % 3 == 0) {
    record.kind = RingKind::kCollective;
    record.transfer_begin_ns = 10 * i + 2;
    record.sequence = i;
    record.bytes = 5 * i;
    record.peer = 1;
  }
  return record;
}

class ShardWriterTest : public ::testing::Test {
 protected:
  ShardWriterTest() { options_.shard = {ShardKind::kRank, ShardClock::kRaw, 0, std::string(32, 'a')}; }
  // The ops of a lane's events, in order.
  std::vector<std::int64_t> stored_ops(int rank, int lane) { return stored_ops(path_, rank, lane); }
  static std::vector<std::int64_t> stored_ops(const std::string& path, int rank, int lane) {
    Database db = Database::open_shard(path);
    const EventReader reader(db);
    std::vector<std::int64_t> ops;
    for (const Track& track : reader.tracks())
      if (track.rank == rank && track.lane == lane)
        for (const SpanEvent& event : reader.spans(track.track_id)) ops.push_back(event.op_id);
    return ops;
  }
  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "run.rank-0.db";
  ShardWriterOptions options_;
};

std::vector<std::int64_t> first_numbers(std::int64_t count) {
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 0; i < count; ++i) numbers.push_back(i);
  return numbers;
}

template <typename Condition>
bool becomes_true(Condition&& condition) {
  for (int i = 0; i < 2000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

TEST_F(ShardWriterTest, StoresWhatLanesPushInOrder) {
  ShardWriter writer(path_, options_);
  EventRing& compute = writer.ring({.rank = 0, .lane = 0}, 100'000);
  EventRing& network = writer.ring({.rank = 0, .lane = 1}, 100'000);
  std::thread lanes[] = {std::thread([&] {
                           for (std::int64_t i = 0; i < 30'000; ++i) compute.push(record_of(i, RunId{1 + i / 10'000}));
                         }),
                         std::thread([&] {
                           for (std::int64_t i = 0; i < 20'000; ++i) network.push(record_of(i));
                         })};
  for (std::thread& lane : lanes) lane.join();
  writer.finish();
  EXPECT_FALSE(writer.failure());
  EXPECT_EQ(writer.clamped(), 0);
  EXPECT_EQ(stored_ops(0, 0), first_numbers(30'000));
  EXPECT_EQ(stored_ops(0, 1), first_numbers(20'000));
  for (const ShardWriter::TrackCount& count : writer.counts()) {
    EXPECT_EQ(count.stored, count.sent);
    EXPECT_EQ(count.dropped, 0);
  }
  Database db = Database::open_shard(path_);
  const EventReader reader(db);
  const std::vector<CollectiveEvent> moves = reader.collectives(RunId{2}, reader.tracks().at(0).track_id);
  ASSERT_FALSE(moves.empty());
  EXPECT_EQ(moves[0], record_of(moves[0].span.op_id, RunId{2}).collective());
}

TEST_F(ShardWriterTest, StoresWorkAndItsDetails) {
  ShardWriter writer(path_, options_);
  TraceSink& sink = writer;
  const WorkDetail launch = {.grid = {8, 4, 1}, .block = {256, 1, 1}, .device = 0, .stream = 7};
  const WorkDetailId detail = sink.detail(launch);
  EXPECT_EQ(sink.detail(launch), detail);
  EventRing& ring = sink.ring({.rank = 0, .kind = TrackKind::kDeviceStream, .name = "stream 7"}, 1 << 14);
  const auto work_of = [&](std::int64_t i) {
    return WorkEvent{{10 * i, 10 * i + 7, i, 0, event_flags(EventCategory::kKernel)},
                     64 * i,
                     static_cast<std::uint32_t>(i),
                     i % 2 == 0 ? detail : 0};
  };
  for (std::int64_t i = 0; i < 10'000; ++i) ring.push(RingRecord::of(work_of(i)));
  writer.finish();
  EXPECT_FALSE(writer.failure());
  Database db = Database::open_shard(path_);
  const EventReader reader(db);
  const std::vector<WorkEvent> stored = reader.work(reader.tracks().at(0).track_id);
  ASSERT_EQ(stored.size(), 10'000u);
  for (std::int64_t i = 0; i < 10'000; ++i) ASSERT_EQ(stored[static_cast<std::size_t>(i)], work_of(i));
  EXPECT_EQ(reader.work_detail(detail), launch);
}

// What a collector knows to be missing is in the ledger, with and without a ring, before and after it is asked for.
TEST_F(ShardWriterTest, CountsWhatNeverReachedARing) {
  ShardWriter writer(path_, options_);
  const Track silent = {.rank = 0, .kind = TrackKind::kDeviceStream, .name = "stream 1"};
  const Track heard = {.rank = 0, .kind = TrackKind::kDeviceStream, .name = "stream 2"};
  writer.missed(silent, 5, 0);
  writer.missed(silent, 2, 3);
  writer.missed(heard, 1, 0);
  EventRing& ring = writer.ring(heard, 64);
  for (std::int64_t i = 0; i < 4; ++i) ring.push(RingRecord::of(WorkEvent{{10 * i, 10 * i + 1}}));
  writer.missed(heard, 0, 6);
  writer.missed({.rank = 0, .kind = TrackKind::kDeviceStream, .name = "stream 3"}, 0, 0);
  writer.finish();
  ASSERT_EQ(writer.counts().size(), 2u);
  const ShardWriter::TrackCount first = writer.counts()[0], second = writer.counts()[1];
  EXPECT_EQ(std::tuple(first.sent, first.stored, first.dropped, first.unreadable), std::tuple(10, 0, 7, 3));
  EXPECT_EQ(std::tuple(second.sent, second.stored, second.dropped, second.unreadable), std::tuple(11, 4, 1, 6));
  Database db = Database::open_shard(path_);
  EXPECT_EQ(EventReader(db).ledger(),
            (std::vector<LedgerRecord>{{TrackId{1}, 10, 0, 7, 3, 0}, {TrackId{2}, 11, 4, 1, 6, 0}}));
}

// A lane that is faster than the writer loses events, and every one of them is counted.
TEST_F(ShardWriterTest, CountsWhatFoundNoRoom) {
  ShardWriter writer(path_, options_);
  EventRing& ring = writer.ring({.rank = 0, .lane = 0}, 16);
  for (std::int64_t i = 0; i < 100'000; ++i) ring.push(record_of(i));
  writer.finish();
  const ShardWriter::TrackCount count = writer.counts().at(0);
  EXPECT_EQ(count.sent, 100'000);
  EXPECT_GT(count.dropped, 0);
  EXPECT_EQ(count.sent, count.stored + count.dropped);
  const std::vector<std::int64_t> ops = stored_ops(0, 0);
  EXPECT_EQ(static_cast<std::int64_t>(ops.size()), count.stored);
  EXPECT_TRUE(std::ranges::is_sorted(ops));
  Database db = Database::open_shard(path_);
  EXPECT_EQ(EventReader(db).ledger(),
            (std::vector<LedgerRecord>{{TrackId{1}, 100'000, count.stored, count.dropped, 0, 0}}));
}

// Also where the cause says neither: memory that runs out, and a thread for whose stack there is none. What nobody
// knows a remedy for gets none.
TEST_F(ShardWriterTest, AFailureSaysWhereAndWhatToDo) {
  options_.on_commit = [](std::span<const CommittedTrack>) { throw std::bad_alloc(); };
  ShardWriter writer(path_, options_);
  writer.ring({.rank = 0, .lane = 0}, 16).push(record_of(0));
  writer.checkpoint();
  pthread_attr_t before, endless;
  ::pthread_getattr_default_np(&before);
  ::pthread_getattr_default_np(&endless);
  ::pthread_attr_setstacksize(&endless, std::size_t{1} << 50);
  ::pthread_setattr_default_np(&endless);
  const std::optional<Error> not_begun = failure_of([&] { ShardWriter(folder_ / "other.db", options_); });
  ::pthread_setattr_default_np(&before);
  options_.on_commit = [](std::span<const CommittedTrack>) { throw std::runtime_error("odd"); };
  ShardWriter odd(folder_ / "odd.db", options_);
  odd.ring({.rank = 0, .lane = 0}, 16).push(record_of(0));
  odd.checkpoint();
  ASSERT_TRUE(writer.failure() && not_begun && odd.failure());
  EXPECT_EQ(odd.failure()->hint(), "");
  const auto says = [](const Error& error, const std::string& text) {
    return std::string(error.what()).starts_with(text) && !error.hint().empty();
  };
  EXPECT_TRUE(says(*writer.failure(), "std::bad_alloc; the shard \"" + path_ + "\" holds "))
      << writer.failure()->what();
  EXPECT_NE(writer.failure()->hint().find("ulimit -v"), std::string::npos);
  EXPECT_TRUE(says(*not_begun, "no thread could be started to write \"")) << not_begun->what();
}

// A clock that goes back neither breaks the order of a track nor puts commits off, for which nobody asks.
TEST_F(ShardWriterTest, AClockThatGoesBackIsClampedAndCounted) {
  static std::atomic<std::int64_t> clock{1'000'000'000'000};
  options_.now = +[]() noexcept { return clock.fetch_add(1'000'000); };
  ShardWriter writer(path_, options_);
  EventRing& ring = writer.ring({.rank = 0, .lane = 0}, 1024);
  ring.push(record_of(5));
  RingRecord back = record_of(2);
  ring.push(back);  // begins and ends before the end of the last one
  back = record_of(6);
  back.span.end_ns = back.span.begin_ns - 3;  // ends before it begins
  ring.push(back);
  clock = 0;
  EXPECT_TRUE(becomes_true([&] { return stored_ops(0, 0).size() == 3; }));
  writer.finish();
  EXPECT_EQ(writer.clamped(), 2);
  Database db = Database::open_shard(path_);
  const EventReader reader(db);
  const std::vector<SpanEvent> events = reader.spans(reader.tracks().at(0).track_id);
  ASSERT_EQ(events.size(), 3u);
  const auto told = [](const SpanEvent& e) { return std::tuple(e.begin_ns, e.end_ns, (e.flags & kEventClamped) != 0); };
  EXPECT_EQ(told(events[0]), std::tuple(50, 57, false));
  EXPECT_EQ(told(events[1]), std::tuple(57, 57, true));
  EXPECT_EQ(told(events[2]), std::tuple(60, 60, true));
}

TEST_F(ShardWriterTest, EventsComeAfterOneThatNeverEnded) {
  const std::vector<SpanEvent> events = {{.begin_ns = 10, .end_ns = 20},
                                         {.begin_ns = 30, .end_ns = kNeverEnded, .flags = kEventUnfinished},
                                         {.begin_ns = 40, .end_ns = 50},
                                         {.begin_ns = 50, .end_ns = 60}};
  ShardWriter writer(path_, options_);
  EventRing& ring = writer.ring({.rank = 0, .lane = 0}, 16);
  for (const SpanEvent& event : events) ring.push({.span = event});
  writer.finish();
  EXPECT_FALSE(writer.failure());
  EXPECT_EQ(writer.clamped(), 0);
  Database db = Database::open_shard(path_);
  const EventReader reader(db);
  EXPECT_EQ(reader.spans(reader.tracks().at(0).track_id), events);
}

// A sample on a track of events, and an event on a counter, leave no trace but a count.
TEST_F(ShardWriterTest, RecordsOfTheWrongKindAreDropped) {
  std::map<TrackId, std::int64_t> acknowledged;
  options_.on_commit = [&](std::span<const CommittedTrack> tracks) {
    for (const CommittedTrack& track : tracks) acknowledged[track.track->track_id] = track.events;
  };
  ShardWriter writer(path_, options_);
  const SpanEvent span = {.begin_ns = 10, .end_ns = 20};
  const CounterSample sample = {15, 1.5};
  EventRing& lane = writer.ring({.rank = 0, .lane = 0}, 16);
  EventRing& counter = writer.ring({.kind = TrackKind::kCounter, .name = "power_w"}, 16);
  lane.push(RingRecord::of(CounterSample{1'000, 2}));
  lane.push({.span = span});
  counter.push({.span = {.begin_ns = 1'000, .end_ns = 1'000}});
  counter.push(RingRecord::of(sample));
  writer.finish();
  EXPECT_EQ(writer.clamped(), 0);
  EXPECT_EQ(acknowledged, (std::map<TrackId, std::int64_t>{{TrackId{1}, 1}, {TrackId{2}, 1}}));
  Database db = Database::open_shard(path_);
  const EventReader reader(db);
  EXPECT_EQ(reader.ledger(), (std::vector<LedgerRecord>{{TrackId{1}, 2, 1, 1, 0, 0}, {TrackId{2}, 2, 1, 1, 0, 0}}));
  EXPECT_EQ(reader.spans(TrackId{1}), std::vector<SpanEvent>{span});
  EXPECT_EQ(reader.counters(TrackId{2}), std::vector<CounterSample>{sample});
}

// Somebody who looked on when the writer ended kept the log from going; afterwards one file holds everything.
TEST_F(ShardWriterTest, AFinishedShardIsOneFileOnceItsLogIsClosed) {
  const TemporaryFolder folder;
  const std::string copy = folder_ / "copy.rank-0.db";
  {
    ShardWriter writer(path_, options_);
    EventRing& lane = writer.ring({.rank = 0, .lane = 0}, 10'000);
    writer.checkpoint();
    Database watching = Database::open_shard(path_);
    watching.execute("BEGIN");
    EXPECT_EQ(EventReader(watching).ledger().at(0).stored, 0);
    for (std::int64_t i = 0; i < 5'000; ++i) lane.push(record_of(i));
    writer.finish();
    EXPECT_FALSE(writer.failure());
  }
  ASSERT_GT(std::filesystem::file_size(path_ + "-wal"), 0u);
  close_log(path_);
  EXPECT_FALSE(std::filesystem::exists(path_ + "-wal") && std::filesystem::file_size(path_ + "-wal") > 0);
  std::filesystem::copy_file(path_, copy);
  EXPECT_EQ(stored_ops(copy, 0, 0), first_numbers(5'000));
  close_log(path_);  // nothing to do
  EXPECT_EQ(stored_ops(0, 0), first_numbers(5'000));
}

}  // namespace
}  // namespace spscope
