#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "backend/base/error.h"
#include "backend/record/collector_texts.h"
#include "backend/record/shared_trace_reader.h"
#include "backend/record/shared_trace_sink.h"
#include "tests/support/kept_trace.h"
#include "tests/support/shared_trace_memory.h"

namespace spscope {
namespace {

Track stream(int number) {
  return {.kind = TrackKind::kDeviceStream, .name = "stream " + std::to_string(number), .device = "GPU 0"};
}

RingRecord kernel(std::int64_t begin_ns, NameId name, WorkDetailId detail = 0, std::uint32_t correlation = 0) {
  WorkEvent event;
  event.span = {begin_ns, begin_ns + 10, -1, name, event_flags(EventCategory::kKernel)};
  event.detail = detail;
  event.correlation = correlation;
  return RingRecord::of(event);
}

void drain(SharedTraceReader& reader, KeptTrace& kept) {
  while (reader.drain()) kept.take();
}

// Both sides in one process.
struct SharedTraceTest : ::testing::Test {
  SharedTraceMemory memory;
  SharedTraceSink program{*memory};
  KeptTrace kept;
  std::vector<std::string> notes;
  SharedTraceReader reader{
      *memory, {3, "python (process 7)"}, kept, [this](const std::string& n) { notes.push_back(n); }};
};

// What a reader of its own brings over of a memory.
struct Fresh {
  explicit Fresh(SharedTrace& memory) : reader(memory, {}, kept, [this](const std::string& n) { notes.push_back(n); }) {
    drain(reader, kept);
  }
  KeptTrace kept;
  std::vector<std::string> notes;
  SharedTraceReader reader;
};

TEST_F(SharedTraceTest, BringsOverTracksNamesDetailsAndRecords) {
  EventRing& first = program.ring(stream(1), 1000);
  EventRing& second = program.ring({.kind = TrackKind::kCounter, .name = "GPU 0 power (W)"}, 10);
  const NameId gemm = program.name("gemm"), norm = program.name("norm");
  EXPECT_EQ(program.name("gemm"), gemm);
  const WorkDetail shape = {.grid = {7, 1, 1}, .block = {128, 1, 1}, .device = 2};
  const WorkDetailId detail = program.detail(shape);
  EXPECT_EQ(program.detail(shape), detail);
  first.push(kernel(100, norm));
  first.push(kernel(200, gemm, detail, 5));
  second.push(RingRecord::of(CounterSample{.time_ns = 50, .value = 312.5}));
  program.note("nvtx: not here");

  EXPECT_TRUE(reader.drain());
  reader.drain();  // what stands in rings of tracks that were new
  ASSERT_EQ(kept.tracks().size(), 2u);
  Track brought = stream(1);
  brought.rank = 3, brought.process = "python (process 7)";
  EXPECT_EQ(kept.tracks()[0].track, brought);
  EXPECT_EQ(kept.names(), (std::vector<std::string>{"gemm", "norm"}));
  EXPECT_EQ(kept.details(), std::vector<WorkDetail>{shape});
  ASSERT_EQ(kept.tracks()[0].records.size(), 2u);
  EXPECT_EQ(kept.tracks()[0].records[0].work().span.name, KeptTrace::kFirstName + 1);
  const WorkEvent launched = kept.tracks()[0].records[1].work();
  EXPECT_EQ(launched.span, (SpanEvent{200, 210, -1, KeptTrace::kFirstName, event_flags(EventCategory::kKernel)}));
  EXPECT_EQ(launched.detail, KeptTrace::kFirstDetail);
  EXPECT_EQ(launched.correlation, 5u);
  ASSERT_EQ(kept.tracks()[1].records.size(), 1u);
  EXPECT_EQ(kept.tracks()[1].records[0].counter(), (CounterSample{50, 312.5}));
  EXPECT_EQ(notes, std::vector<std::string>{"nvtx: not here"});
  EXPECT_TRUE(reader.is_empty());
  EXPECT_FALSE(reader.drain());
}

TEST_F(SharedTraceTest, CostsOfCollectorsAreThoseThatWereToldLast) {
  const std::optional<std::uint32_t> cupti = program.collector("cupti"), nccl = program.collector("nccl");
  ASSERT_TRUE(cupti && nccl);
  program.note("cupti: copies: not recorded", cupti);
  program.note("nvml: cannot be started");
  program.set_cost(*nccl, {1, 2, 3, 4, 5}, false);
  program.set_cost(*cupti, {10, 20, 30, 40, 50}, false);
  program.set_cost(*cupti, {11, 21, 31, 41, 51}, true);
  reader.drain();
  EXPECT_EQ(reader.collectors(),
            (std::vector<CollectorRecord>{
                {3, "python (process 7)", "cupti", {11, 21, 31, 41, 51}, "cupti: copies: not recorded"},
                {3,
                 "python (process 7)",
                 "nccl",
                 {1, 2, 3, 4, 5},
                 "nccl: the process ended before the collector did: what had not been handed over by then is missing "
                 "and counted nowhere, and what it took is as of up to a second before",
                 CollectorOutcome::kCutOff}}));
  EXPECT_NE(reader.collectors(true)[1].notes.find("the process went on"), std::string::npos);
  EXPECT_EQ(notes.size(), 2u);
  memory->costs[0].records = -1;
  EXPECT_EQ(reader.collectors()[0].cost.records, 0) << "damage";
  for (int i = 2; i < SharedTrace::kMaxCollectors; ++i) EXPECT_TRUE(program.collector("more"));
  EXPECT_FALSE(program.collector("too many"));
}

TEST_F(SharedTraceTest, WhatSaysTheRankIsBroughtOver) {
  const std::vector<RankClaim> claims = {
      {.source = RankSource::kSlurm, .rank = 0},
      {.source = RankSource::kNccl, .rank = 3, .num_ranks = 8, .communicator = 0x5eed},
      {.source = RankSource::kRank, .rank = 2}};
  for (const RankClaim& claim : claims) program.claim_rank(claim);
  reader.drain();
  EXPECT_EQ(reader.claims(), claims);
  for (std::size_t i = 0; i < SharedTraceReader::kMostClaims; ++i) program.claim_rank(claims[0]);
  reader.drain();
  EXPECT_EQ(reader.claims().size(), SharedTraceReader::kMostClaims);
  EXPECT_TRUE(notes.empty());
  for (const RankClaim& damaged : std::vector<RankClaim>{{.source = static_cast<RankSource>(kNumRankSources)},
                                                         {.source = RankSource::kRank, .rank = -1},
                                                         {.source = RankSource::kRank, .rank = kRankLimit},
                                                         {.source = RankSource::kNccl, .rank = 1}}) {
    SharedTraceMemory other;
    SharedTraceSink(*other).claim_rank(damaged);
    EXPECT_EQ(Fresh(*other).notes.size(), 1u) << static_cast<int>(damaged.source) << " " << damaged.rank;
  }
}

TEST_F(SharedTraceTest, NotesBeyondABoundAreCounted) {
  const std::optional<std::uint32_t> cupti = program.collector("cupti");
  for (int i = 0; i < SharedTraceReader::kMostNotes + 900; ++i) program.note(std::to_string(i), cupti);
  reader.drain();
  EXPECT_EQ(std::ssize(notes), SharedTraceReader::kMostNotes);
  EXPECT_EQ(std::ssize(notes_of(reader.collectors().at(0))), SharedTraceReader::kMostNotes + 1) << "it was cut off";
  EXPECT_EQ(reader.notes_left_out(), "900 more notes of it are not shown");
}

TEST_F(SharedTraceTest, WhatComesAfterTheSealIsLeft) {
  EventRing& ring = program.ring(stream(1), 256);
  ring.push(kernel(1, program.name("before")));
  reader.seal();
  ring.push(kernel(20, program.name("after")));
  program.ring(stream(2), 256).push(kernel(1, 0));
  EXPECT_FALSE(reader.is_empty());
  drain(reader, kept);
  EXPECT_TRUE(reader.is_empty());
  ASSERT_EQ(kept.tracks().size(), 1u);
  EXPECT_EQ(kept.tracks()[0].records.size(), 1u);
  EXPECT_EQ(kept.names(), std::vector<std::string>{"before"});
  EXPECT_TRUE(notes.empty());
}

TEST_F(SharedTraceTest, CountsWhatWasDropped) {
  EventRing& ring = program.ring(stream(1), SharedTrace::kLeastRecords);
  for (std::size_t i = 0; i < SharedTrace::kLeastRecords + 7; ++i) ring.push(kernel(static_cast<std::int64_t>(i), 0));
  program.missed(stream(1), 30, 2);
  program.missed(stream(2), 1, 0);  // of which nothing ever came
  drain(reader, kept);
  ASSERT_EQ(kept.tracks().size(), 2u);
  EXPECT_EQ(kept.tracks()[0].records.size(), SharedTrace::kLeastRecords);
  EXPECT_EQ(kept.tracks()[0].dropped, 37);
  EXPECT_EQ(kept.tracks()[0].unreadable, 2);
  EXPECT_EQ(kept.tracks()[1].dropped, 1);
}

TEST_F(SharedTraceTest, RecordsWaitForRoomInTheSink) {
  KeptTrace narrow(4);
  SharedTraceReader slow(*memory, {}, narrow, [](const std::string&) {});
  EventRing& ring = program.ring(stream(1), 256);
  for (int i = 0; i < 100; ++i) ring.push(kernel(i * 20, 0));
  slow.drain();
  const KeptTrace::KeptTrack& track = narrow.tracks().at(0);
  for (int taken = 0; taken < 100; taken += 4) {
    slow.drain();
    EXPECT_EQ(track.ring->room(), 0u);
    narrow.take();
  }
  slow.drain();
  EXPECT_EQ(track.records.size(), 100u);
  EXPECT_EQ(track.dropped, 0);
  EXPECT_TRUE(slow.is_empty());
}

TEST_F(SharedTraceTest, WhatFindsNoRoomInTheEndIsCounted) {
  KeptTrace narrow(4);
  SharedTraceReader slow(*memory, {}, narrow, [](const std::string&) {});
  EventRing& ring = program.ring(stream(1), 256);
  for (int i = 0; i < 100; ++i) ring.push(kernel(i * 20, 0));
  for (int turn = 0; turn < 2; ++turn) slow.drain();  // the first finds the track
  slow.seal();
  EXPECT_EQ(slow.drop_rest(), 96);
  EXPECT_EQ(narrow.tracks().at(0).dropped, 96);
  EXPECT_TRUE(slow.is_empty());
}

TEST_F(SharedTraceTest, AsManyTracksAsItHasPlaceForWhateverTheyAskFor) {
  constexpr std::size_t kMuch = SharedTrace::kRecords;
  std::size_t least = kMuch;
  for (int i = 0; i < SharedTrace::kMaxTracks; ++i) least = std::min(least, program.ring(stream(i), kMuch).capacity());
  EXPECT_EQ(least, SharedTrace::kLeastRecords);
  EXPECT_THROW(program.ring(stream(-1), 1), Error);
  reader.drain();
  EXPECT_EQ(kept.tracks().size(), static_cast<std::size_t>(SharedTrace::kMaxTracks));
  EXPECT_TRUE(notes.empty());
}

TEST_F(SharedTraceTest, AFullLogIsSaidAndHarmsNothingElse) {
  EventRing& ring = program.ring(stream(1), 256);
  const std::string much(16 << 10, 'x');
  NameId last = 1;
  for (int i = 0; last != 0; ++i) last = program.name(std::to_string(i) + much);
  EXPECT_EQ(program.name("one more" + much), 0u);
  ring.push(kernel(1, last));
  drain(reader, kept);
  EXPECT_TRUE(reader.left_unnamed().starts_with("2 of its events have no name, and 0 no grid"));
  EXPECT_EQ(kept.tracks()[0].records.size(), 1u);
}

// Under the sanitizer of threads this shows that what the reader sees of a record and of its name was written before.
TEST_F(SharedTraceTest, ThreadsPushWhileAnotherReads) {
  constexpr int kThreads = 3, kEach = 20'000, kNames = 2'000;
  std::atomic<int> running{kThreads};
  std::vector<std::int64_t> pushed(kThreads);
  std::vector<std::thread> threads;
  for (int number = 0; number < kThreads; ++number)
    threads.emplace_back([&, number] {
      EventRing& ring = program.ring(stream(number), 1024);
      for (int i = 0; i < kEach; ++i) {
        const NameId name = program.name("kernel " + std::to_string(i % kNames));
        pushed[static_cast<std::size_t>(number)] += ring.push(kernel(i * 20, name, 0, static_cast<std::uint32_t>(i)));
      }
      --running;
    });
  bool rest = true;
  while (running > 0 || rest) {
    rest = reader.drain() || !reader.is_empty();
    kept.take();
  }
  for (std::thread& thread : threads) thread.join();
  drain(reader, kept);
  EXPECT_TRUE(notes.empty()) << notes[0];
  ASSERT_EQ(kept.tracks().size(), 3u);
  for (const KeptTrace::KeptTrack& track : kept.tracks()) {
    const auto number = static_cast<std::size_t>(track.track.name.back() - '0');
    EXPECT_EQ(std::ssize(track.records), pushed[number]);
    EXPECT_EQ(track.dropped, kEach - pushed[number]);
    std::uint32_t least = 0;
    for (const RingRecord& record : track.records) {
      const WorkEvent event = record.work();
      EXPECT_GE(event.correlation, least);
      least = event.correlation + 1;
      EXPECT_EQ(kept.name_of(event.span.name), "kernel " + std::to_string(event.correlation % kNames));
    }
  }
}

// -- a program that is broken

TEST_F(SharedTraceTest, RecordsThatMakeNoSenseAreUnreadable) {
  EventRing& ring = program.ring(stream(1), 256);
  EventRing& counter = program.ring({.kind = TrackKind::kCounter, .name = "power"}, 256);
  RingRecord backwards = kernel(100, 0), early = kernel(-5, 0), late = kernel(100, 0), strange = kernel(100, 0);
  backwards.span.end_ns = 99;
  late.span.end_ns = kNeverEnded;  // and no flag that says so
  strange.kind = RingKind{17};
  RingRecord category = kernel(100, 0), bytes = kernel(100, 0);
  category.span.flags = 15;
  bytes.bytes = -1;
  RingRecord sample = RingRecord::of(CounterSample{.time_ns = 1, .value = 1}), collective = kernel(100, 0);
  collective.kind = RingKind::kCollective;
  collective.transfer_begin_ns = 111;  // after its end
  for (const RingRecord& record :
       {backwards, early, late, strange, category, bytes, sample, collective, kernel(1, 9), kernel(1, 0, 9)})
    ring.push(record);
  ring.push(kernel(500, 0));
  counter.push(kernel(1, 0));
  counter.push(RingRecord::of(CounterSample{.time_ns = 1, .value = std::numeric_limits<double>::quiet_NaN()}));
  drain(reader, kept);
  EXPECT_EQ(kept.tracks()[0].unreadable, 10);
  ASSERT_EQ(kept.tracks()[0].records.size(), 1u);
  EXPECT_EQ(kept.tracks()[0].records[0].span.begin_ns, 500);
  EXPECT_EQ(kept.tracks()[1].unreadable, 2);
}

TEST_F(SharedTraceTest, ARingThatCannotBeIsGivenUp) {
  program.ring(stream(1), 256);
  EventRing& sound = program.ring(stream(2), 256);
  sound.push(kernel(1, 0));
  reader.drain();
  memory->tracks[0].ring.pushed = 1'000'000;
  drain(reader, kept);
  EXPECT_TRUE(reader.is_empty());
  EXPECT_EQ(kept.tracks()[0].unreadable, 1);
  EXPECT_EQ(kept.tracks()[1].records.size(), 1u);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("the ring of device stream stream 1"), std::string::npos) << notes[0];
}

TEST_F(SharedTraceTest, ALogThatMakesNoSenseIsReadUpToThere) {
  program.ring(stream(1), 256).push(kernel(1, program.name("kept")));
  const std::uint64_t sound = memory->log_end;
  for (const std::uint64_t end : {std::uint64_t{SharedTrace::kLogBytes} + 8, sound + 3, sound + 8}) {
    memory->log_end = end;  // beyond, between entries, or with an entry of the kind 0
    Fresh other(*memory);
    EXPECT_EQ(other.notes.size(), 1u) << end;
    EXPECT_TRUE(other.reader.is_empty());
  }
}

TEST_F(SharedTraceTest, ATrackThatCannotBeIsRefused) {
  program.ring(stream(1), 256);
  SharedTrace::TrackEntry sound;
  std::uint8_t* const at = memory->log.data() + sizeof(SharedTrace::EntryHeader);
  std::memcpy(&sound, at, sizeof sound);
  const auto with = [&](const auto& change) {
    SharedTrace::TrackEntry entry = sound;
    change(entry);
    return entry;
  };
  const auto within = [&](std::uint64_t first, std::uint64_t records) {
    return with([&](SharedTrace::TrackEntry& entry) { entry.first_record = first, entry.num_records = records; });
  };
  for (const SharedTrace::TrackEntry& entry :
       {within(SharedTrace::kRecords, 256), within(SharedTrace::kRecords - 255, 256), within(0, 255),
        within(0, SharedTrace::kRecords * 2),
        with([](auto& lane) { lane.kind = static_cast<std::uint32_t>(TrackKind::kRankLane); }),
        with([](auto& unknown) { unknown.kind = kNumTrackKinds; }), with([](auto& named) { ++named.name_bytes; })}) {
    std::memcpy(at, &entry, sizeof entry);
    Fresh other(*memory);
    EXPECT_EQ(other.kept.tracks().size(), 0u);
    EXPECT_EQ(other.notes.size(), 1u);
  }
}

TEST_F(SharedTraceTest, AClockThatCannotBeIsRefused) {
  const ClockFit sound = {.raw_zero_ns = 5, .offset_ns = 7, .drift = 100e-6, .bound_ns = 300, .exchanges = 4};
  program.set_clock(sound);
  reader.drain();
  ASSERT_EQ(kept.clocks().size(), 1u);
  EXPECT_EQ(kept.clocks()[0].raw_zero_ns, 5);
  EXPECT_EQ(kept.clocks()[0].offset_ns, 7);
  EXPECT_EQ(kept.clocks()[0].drift, 100e-6);
  ClockFit fast = sound, unbound = sound, none = sound;
  fast.drift = 0.1, unbound.bound_ns = -1, none.drift = std::numeric_limits<double>::quiet_NaN();
  for (const ClockFit& fit : {fast, unbound, none}) {
    SharedTraceMemory other;
    SharedTraceSink(*other).set_clock(fit);
    Fresh reading(*other);
    EXPECT_TRUE(reading.kept.clocks().empty());
    EXPECT_EQ(reading.notes.size(), 1u);
  }
}

}  // namespace
}  // namespace spscope
