// Chunks: every record comes back, sizes are what the layout says, and no bytes do harm.
#include "backend/store/chunk/chunk_codec.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "backend/base/bytes.h"
#include "backend/base/rng.h"
#include "tests/unit/store/sample_store.h"

namespace spscope {
namespace {

using Limits = std::numeric_limits<std::int64_t>;
constexpr Compress kBoth[] = {Compress::kFast, Compress::kBest};

// Numbers of every size: a random number of random low bytes, now and then an extreme.
std::int64_t any_number(Rng& rng) {
  const auto extreme = rng.below(12);
  if (extreme == 0) return Limits::max();
  if (extreme == 1) return Limits::min();
  return static_cast<std::int64_t>(rng.bits() >> rng.below(64));
}

SpanEvent any_span(Rng& rng) {
  SpanEvent e;
  e.begin_ns = any_number(rng), e.end_ns = any_number(rng);
  if (e.end_ns < e.begin_ns) std::swap(e.begin_ns, e.end_ns);
  if (rng.below(8) == 0) e.end_ns = e.begin_ns;
  if (rng.below(8) == 0) e.end_ns = kNeverEnded, e.flags = kEventUnfinished;
  e.op_id = any_number(rng);
  e.name = static_cast<NameId>(rng.bits() >> rng.below(64));
  e.flags |= static_cast<std::uint32_t>(rng.bits() >> rng.below(64));
  return e;
}

CollectiveEvent any_collective(Rng& rng) {
  CollectiveEvent e;
  e.span = any_span(rng);
  e.entry_ns = any_number(rng), e.transfer_begin_ns = any_number(rng), e.transfer_end_ns = any_number(rng);
  e.sequence = any_number(rng), e.bytes = any_number(rng);
  e.communicator = static_cast<CommunicatorId>(rng.bits() >> rng.below(64));
  e.peer = static_cast<std::int32_t>(rng.bits());
  if (rng.below(2) == 0) e.peer = -1;
  return e;
}

WorkEvent any_work(Rng& rng) {
  const auto any_u32 = [&] { return static_cast<std::uint32_t>(rng.bits() >> (rng.below(32) + 32)); };
  return {any_span(rng), any_number(rng), any_u32(), any_u32()};
}

CounterSample any_sample(Rng& rng) {
  return {any_number(rng), std::bit_cast<double>(rng.bits() >> rng.below(64) & ~(0x7ffull << 52))};
}

// A lane that computes: gaps and durations of some microseconds, ops in order, a few names.
std::vector<SpanEvent> lane(int count, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<SpanEvent> events;
  std::int64_t now = 1'000'000'000'000;
  for (int i = 0; i < count; ++i) {
    SpanEvent e;
    e.begin_ns = now + static_cast<std::int64_t>(rng.below(50'000));
    e.end_ns = now = e.begin_ns + static_cast<std::int64_t>(rng.below(3'000'000));
    e.op_id = 7 * i;
    e.name = static_cast<NameId>(rng.below(200));
    e.flags = event_flags(static_cast<EventCategory>(rng.below(kNumEventCategories)));
    events.push_back(e);
  }
  return events;
}

template <typename Record>
std::vector<Record> many(Record (*any)(Rng&), int count, Rng& rng) {
  std::vector<Record> records;
  for (int i = 0; i < count; ++i) records.push_back(any(rng));
  return records;
}

template <typename Record>
std::vector<Record> decoded(const EncodedChunk& chunk) {
  std::vector<Record> records(3);
  if constexpr (std::is_same_v<Record, SpanEvent>)
    decode_spans(chunk.header, chunk.data, records);
  else if constexpr (std::is_same_v<Record, CollectiveEvent>)
    decode_collectives(chunk.header, chunk.data, records);
  else if constexpr (std::is_same_v<Record, WorkEvent>)
    decode_work(chunk.header, chunk.data, records);
  else
    decode_counters(chunk.header, chunk.data, records);
  EXPECT_GE(records.size(), 3u) << "it appends";
  records.erase(records.begin(), records.begin() + 3);
  return records;
}

template <typename Record>
void expect_comes_back(const std::vector<Record>& records, Compress compress) {
  const EncodedChunk chunk = encode_chunk(std::span(records), compress);
  const std::vector<Record> read = decoded<Record>(chunk);
  if constexpr (std::is_same_v<Record, CounterSample>) {
    ASSERT_EQ(read.size(), records.size());
    EXPECT_EQ(std::memcmp(read.data(), records.data(), records.size() * sizeof records[0]), 0);
  } else {
    EXPECT_EQ(read, records);
  }
  if constexpr (requires(Record record) { record.span; }) {
    EXPECT_TRUE(std::ranges::equal(decoded<SpanEvent>(chunk), records, {}, {}, &Record::span));
  }
}

TEST(ChunkCodec, EveryRecordComesBack) {
  Rng rng(1);
  for (const Compress compress : kBoth)
    for (const int count : {1, 2, 3, 255, 256, 257, 1000, kMaxChunkEvents}) {
      expect_comes_back(many(any_span, count, rng), compress);
      expect_comes_back(many(any_collective, count, rng), compress);
      expect_comes_back(many(any_work, count, rng), compress);
      expect_comes_back(many(any_sample, count, rng), compress);
    }
}

TEST(ChunkCodec, BoundsAreThoseOfTheRecords) {
  Rng rng(2);
  for (int round = 0; round < 100; ++round) {
    const std::vector<SpanEvent> spans = many(any_span, 1 + static_cast<int>(rng.below(50)), rng);
    const ChunkHeader header = encode_chunk(std::span(spans), Compress::kFast).header;
    const auto [first, last] = std::ranges::minmax(spans, {}, &SpanEvent::begin_ns);
    const auto [least, most] = std::ranges::minmax(spans, {}, &SpanEvent::op_id);
    EXPECT_EQ(header.begin_min_ns, first.begin_ns);
    EXPECT_EQ(header.begin_max_ns, last.begin_ns);
    EXPECT_EQ(header.end_max_ns, std::ranges::max(spans, {}, &SpanEvent::end_ns).end_ns);
    EXPECT_EQ(header.op_min, least.op_id);
    EXPECT_EQ(header.op_max, most.op_id);
    EXPECT_EQ(header.count, static_cast<int>(spans.size()));
  }
}

TEST(ChunkCodec, ALaneTakesFewBytes) {
  const std::vector<SpanEvent> events = lane(kMaxChunkEvents, 3);
  // gap 3, duration 3, op 0, name 1, flags 1: noise stays, what is the same in all takes nothing
  EXPECT_LT(encode_chunk(std::span(events), Compress::kFast).data.size(), 8u * kMaxChunkEvents + 200);
  // gap 2.25 (of the third byte one bit in two is used), duration 2.7, flags 0.4; ops take nothing
  EXPECT_LT(encode_chunk(std::span(events), Compress::kBest).data.size(), 7u * kMaxChunkEvents);
}

// What repeats over the passes of a run is stored about once, also in a shard: of 16 passes over 256 ops, each with a
// name and a flag of its own, a sixteenth of op, name and flags, and the two bytes each of gaps and durations.
TEST(ChunkCodec, PassesOverTheSameOpsTakeTheirTimesOnly) {
  Rng rng(5);
  std::vector<SpanEvent> events;
  std::int64_t now = 0;
  for (int i = 0; i < kMaxChunkEvents; ++i) {
    const std::uint64_t op = static_cast<std::uint64_t>(i) % 256;
    const std::int64_t begin = now + static_cast<std::int64_t>(rng.below(30'000));
    now = begin + static_cast<std::int64_t>(rng.below(60'000));
    const std::uint64_t kind = op * op * 40503 >> 3;
    events.push_back({.begin_ns = begin,
                      .end_ns = now,
                      .op_id = static_cast<std::int64_t>(kind % 50'000),
                      .name = static_cast<NameId>(kind % 251),
                      .flags = static_cast<std::uint32_t>(kind % 7)});
  }
  for (const Compress compress : kBoth) {
    const std::size_t size = encode_chunk(std::span(events), compress).data.size();
    EXPECT_LT(size, 4u * kMaxChunkEvents + 5 * (256 + 60) + 40);
    EXPECT_GT(size, 3u * kMaxChunkEvents);
  }
}

TEST(ChunkCodec, ColumnsAreReadAlone) {
  const std::vector<SpanEvent> events = lane(1000, 4);
  for (const Compress compress : kBoth) {
    const EncodedChunk chunk = encode_chunk(std::span(events), compress);
    ChunkColumns columns(chunk.header, chunk.data);
    ASSERT_EQ(columns.count(), 1000);
    EXPECT_EQ(columns.first_begin_ns(), events[0].begin_ns);
    std::vector<std::uint64_t> names(990), durations(1000);
    columns.unpack(ChunkColumns::kName, 10, names);
    columns.unpack(ChunkColumns::kDuration, 0, durations);
    for (std::size_t i = 0; i < names.size(); ++i) ASSERT_EQ(names[i], events[i + 10].name);
    for (std::size_t i = 0; i < durations.size(); ++i)
      ASSERT_EQ(static_cast<std::int64_t>(durations[i]), events[i].end_ns - events[i].begin_ns);
    ASSERT_EQ(columns.value(ChunkColumns::kName, 999), events[999].name);
  }
}

TEST(ChunkCodec, NamesAreFound) {
  std::vector<SpanEvent> events = lane(1000, 4);
  for (SpanEvent& event : events) event.name *= 601;  // up to three bytes
  const NameId first = events.front().name, last = events.back().name;
  const NameId absent = 1'000'000, too_wide = last | 1u << 31, same_low_byte = first + 256;
  for (const std::vector<NameId>& names : {std::vector{last}, std::vector{absent, first, last},
                                           std::vector{too_wide, same_low_byte, NameId{0}}, std::vector{absent}}) {
    std::vector<std::uint32_t> wanted;
    for (std::uint32_t i = 0; i < events.size(); ++i)
      if (std::ranges::find(names, events[i].name) != names.end()) wanted.push_back(i);
    for (const Compress compress : kBoth) {
      const EncodedChunk chunk = encode_chunk(std::span(events), compress);
      std::vector<std::uint32_t> found;
      ChunkColumns(chunk.header, chunk.data).find_names(names, found);
      EXPECT_EQ(found, wanted);
    }
  }
}

// Bytes and header with a checksum that fits what was done to them, so that the decoder must see it for itself.
void expect_refused(ChunkHeader header, const std::vector<std::uint8_t>& data) {
  header.crc32c = crc32c(data);
  const auto refuses = [&](auto decode, auto out) {
    EXPECT_EQ(testing::error_of([&] { decode(header, data, out); }).code(), ErrorCode::kStoreCorrupt);
    EXPECT_EQ(out.size(), 2u) << "a failure leaves nothing behind";
  };
  refuses(decode_spans, std::vector<SpanEvent>(2));
  refuses(decode_collectives, std::vector<CollectiveEvent>(2));
  refuses(decode_counters, std::vector<CounterSample>(2));
  refuses(decode_work, std::vector<WorkEvent>(2));
}

std::vector<EncodedChunk> one_of_each(std::uint64_t seed) {
  Rng rng(seed);
  std::vector<EncodedChunk> chunks;
  for (const Compress compress : kBoth) {
    chunks.push_back(encode_chunk(std::span<const SpanEvent>(lane(40, seed)), compress));
    chunks.push_back(encode_chunk(std::span<const SpanEvent>(std::vector<SpanEvent>(300, {.op_id = 5})), compress));
    chunks.push_back(encode_chunk(std::span<const CollectiveEvent>(many(any_collective, 30, rng)), compress));
    chunks.push_back(encode_chunk(std::span<const CounterSample>(many(any_sample, 30, rng)), compress));
    chunks.push_back(encode_chunk(std::span<const WorkEvent>(many(any_work, 30, rng)), compress));
  }
  return chunks;
}

TEST(HostileChunk, EveryTruncationIsAnError) {
  for (const EncodedChunk& chunk : one_of_each(5))
    for (std::size_t size = 0; size < chunk.data.size(); ++size) {
      const std::vector<std::uint8_t> cut(chunk.data.begin(), chunk.data.begin() + static_cast<std::ptrdiff_t>(size));
      expect_refused(chunk.header, cut);
    }
}

TEST(HostileChunk, HeadersThatLieAreRefused) {
  const std::vector<SpanEvent> events = lane(40, 8);
  void (*const lies[])(ChunkHeader&) = {[](ChunkHeader& h) { h.count = 0; },
                                        [](ChunkHeader& h) { h.count = -1; },
                                        [](ChunkHeader& h) { ++h.count; },
                                        [](ChunkHeader& h) { h.count = kMaxChunkEvents + 1; },
                                        [](ChunkHeader& h) { h.count = std::numeric_limits<int>::max(); },
                                        [](ChunkHeader& h) { h.codec = static_cast<ChunkCodec>(0); },
                                        [](ChunkHeader& h) { h.codec = static_cast<ChunkCodec>(2); },
                                        [](ChunkHeader& h) { h.kind = RecordKind::kCollective; },
                                        [](ChunkHeader& h) { h.kind = RecordKind::kCounter; },
                                        [](ChunkHeader& h) { h.kind = RecordKind::kWork; },
                                        [](ChunkHeader& h) { h.kind = static_cast<RecordKind>(9); },
                                        [](ChunkHeader& h) { ++h.begin_min_ns; },
                                        [](ChunkHeader& h) { --h.begin_max_ns; },
                                        [](ChunkHeader& h) { ++h.end_max_ns; },
                                        [](ChunkHeader& h) { --h.op_min; },
                                        [](ChunkHeader& h) { ++h.op_max; },
                                        [](ChunkHeader& h) { h.crc32c ^= 1; }};
  for (const Compress compress : kBoth)
    for (std::size_t i = 0; i < std::size(lies); ++i) {
      EncodedChunk chunk = encode_chunk(std::span(events), compress);
      lies[i](chunk.header);
      EXPECT_EQ(testing::error_of([&] { decoded<SpanEvent>(chunk); }).code(), ErrorCode::kStoreCorrupt) << "lie " << i;
    }
}

TEST(HostileChunk, EventsThatEndBeforeTheyBeginAreRefused) {
  std::vector<SpanEvent> events = lane(10, 9);
  events[4].end_ns = events[4].begin_ns - 1;
  for (const Compress compress : kBoth) {
    const EncodedChunk chunk = encode_chunk(std::span(events), compress);
    EXPECT_EQ(testing::error_of([&] { decoded<SpanEvent>(chunk); }).code(), ErrorCode::kStoreCorrupt);
  }
}

// The instruction, the tables, and a third computation bit by bit.
TEST(Crc32c, InstructionAndTablesAgree) {
  Rng rng(10);
  for (std::size_t size = 0; size < 300; ++size) {
    std::vector<std::uint8_t> bytes;
    for (std::size_t i = 0; i < size; ++i) bytes.push_back(static_cast<std::uint8_t>(rng.bits()));
    EXPECT_EQ(crc32c(bytes), testing::plain_crc32c(bytes));
    EXPECT_EQ(crc32c_by_tables(bytes), testing::plain_crc32c(bytes));
  }
}

}  // namespace
}  // namespace spscope
