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

TEST(ChunkCodec, EveryRecordComesBack) {
  Rng rng(1);
  for (const Compress compress : kBoth)
    for (const int count : {1, 2, 3, 255, 256, 257, 1000, kMaxChunkEvents}) {
      const std::vector<SpanEvent> spans = many(any_span, count, rng);
      const EncodedChunk a = encode_chunk(std::span(spans), compress);
      std::vector<SpanEvent> read_spans(3);
      decode_spans(a.header, a.data, read_spans);
      EXPECT_EQ(read_spans.size(), spans.size() + 3) << "it appends";
      EXPECT_TRUE(std::equal(spans.begin(), spans.end(), read_spans.begin() + 3));

      const std::vector<CollectiveEvent> collectives = many(any_collective, count, rng);
      const EncodedChunk b = encode_chunk(std::span(collectives), compress);
      std::vector<CollectiveEvent> read_collectives;
      decode_collectives(b.header, b.data, read_collectives);
      EXPECT_EQ(read_collectives, collectives);
      read_spans.clear();
      decode_spans(b.header, b.data, read_spans);
      for (std::size_t i = 0; i < collectives.size(); ++i) ASSERT_EQ(read_spans[i], collectives[i].span);

      const std::vector<WorkEvent> work = many(any_work, count, rng);
      const EncodedChunk d = encode_chunk(std::span(work), compress);
      std::vector<WorkEvent> read_work;
      decode_work(d.header, d.data, read_work);
      EXPECT_EQ(read_work, work);
      read_spans.clear();
      decode_spans(d.header, d.data, read_spans);
      for (std::size_t i = 0; i < work.size(); ++i) ASSERT_EQ(read_spans[i], work[i].span);

      const std::vector<CounterSample> samples = many(any_sample, count, rng);
      const EncodedChunk c = encode_chunk(std::span(samples), compress);
      std::vector<CounterSample> read_samples;
      decode_counters(c.header, c.data, read_samples);
      ASSERT_EQ(read_samples.size(), samples.size());
      EXPECT_EQ(std::memcmp(read_samples.data(), samples.data(), samples.size() * sizeof samples[0]), 0);
    }
}

TEST(ChunkCodec, BoundsAreThoseOfTheRecords) {
  Rng rng(2);
  for (int round = 0; round < 100; ++round) {
    const std::vector<SpanEvent> spans = many(any_span, 1 + static_cast<int>(rng.below(50)), rng);
    const ChunkHeader header = encode_chunk(std::span(spans), Compress::kFast).header;
    const auto begins = std::minmax_element(
        spans.begin(), spans.end(), [](const SpanEvent& a, const SpanEvent& b) { return a.begin_ns < b.begin_ns; });
    const auto ops = std::minmax_element(spans.begin(), spans.end(),
                                         [](const SpanEvent& a, const SpanEvent& b) { return a.op_id < b.op_id; });
    std::int64_t end_max = Limits::min();
    for (const SpanEvent& e : spans) end_max = std::max(end_max, e.end_ns);
    EXPECT_EQ(header.begin_min_ns, begins.first->begin_ns);
    EXPECT_EQ(header.begin_max_ns, begins.second->begin_ns);
    EXPECT_EQ(header.end_max_ns, end_max);
    EXPECT_EQ(header.op_min, ops.first->op_id);
    EXPECT_EQ(header.op_max, ops.second->op_id);
    EXPECT_EQ(header.count, static_cast<int>(spans.size()));
  }
}

// A file is read on other machines and years later: the bytes as the layout says them, written by hand.
TEST(ChunkCodec, LayoutIsAsWritten) {
  const std::vector<SpanEvent> events = {{.begin_ns = 1000, .end_ns = 1300, .op_id = 4, .name = 2, .flags = 1},
                                         {.begin_ns = 1310, .end_ns = 1310, .op_id = 3, .name = 258, .flags = 1},
                                         {.begin_ns = 1309, .end_ns = 1509, .op_id = 3, .name = 0, .flags = 1}};
  const std::vector<std::uint8_t> expected = {1,    2,  1,    2, 1,           // widths
                                              0xe8, 3,  0,    0, 0, 0, 0, 0,  // 1000
                                              3,    0,  3,    0, 3, 0, 3, 0,  // stored sizes of seven planes
                                              3,    0,  3,    0, 3, 0,        //
                                              0,    20, 1,                    // gaps 0, 10, -1
                                              0x2c, 0,  0xc8, 1, 0, 0,        // 300, 0, 200: low bytes, high bytes
                                              10,   1,  0,                    // ops +5, -1, 0
                                              2,    2,  0,    0, 1, 0,        // names: low bytes, high bytes
                                              1,    1,  1};                   // flags
  const EncodedChunk chunk = encode_chunk(std::span(events), Compress::kFast);
  EXPECT_EQ(chunk.data, expected);
  std::vector<SpanEvent> read;
  decode_spans(chunk.header, expected, read);
  EXPECT_EQ(read, events);
}

// Widths 0 to 8 of one column, each at its smallest and largest number, of events too few for compression.
TEST(ChunkCodec, SizesAreWidthsTimesEvents) {
  for (int width = 0; width <= 8; ++width)
    for (const bool largest : {false, true}) {
      const std::uint64_t value = width == 0   ? 0
                                  : largest    ? ~std::uint64_t{0} >> (64 - 8 * width)
                                  : width == 1 ? 1
                                               : std::uint64_t{1} << (8 * (width - 1));
      std::vector<SpanEvent> events(30, {.begin_ns = 0, .end_ns = 0, .op_id = -1});
      const bool fits = value <= static_cast<std::uint64_t>(Limits::max());
      // Durations end at 63 bits; op_id differences reach 64.
      if (fits) events.back().end_ns = static_cast<std::int64_t>(value);
      const std::uint64_t unzigzagged = value >> 1 ^ (~(value & 1) + 1);
      events.back().op_id = static_cast<std::int64_t>(unzigzagged - 1);
      const EncodedChunk chunk = encode_chunk(std::span(events), Compress::kFast);
      const auto planes = static_cast<std::size_t>(width) * (fits ? 2 : 1);
      EXPECT_EQ(chunk.data.size(), 5 + 8 + planes * (2 + events.size())) << width;
      std::vector<SpanEvent> read;
      decode_spans(chunk.header, chunk.data, read);
      EXPECT_EQ(read, events);
    }
}

TEST(ChunkCodec, ALaneTakesFewBytes) {
  const std::vector<SpanEvent> events = lane(kMaxChunkEvents, 3);
  // gap 3, duration 3, op 0, name 1, flags 1: noise stays, what is the same in all takes nothing
  EXPECT_LT(encode_chunk(std::span(events), Compress::kFast).data.size(), 8u * kMaxChunkEvents + 200);
  // gap 2.25 (of the third byte one bit in two is used), duration 2.7, flags 0.4; ops take nothing
  EXPECT_LT(encode_chunk(std::span(events), Compress::kBest).data.size(), 7u * kMaxChunkEvents);
}

// Launches of a stream, numbered on: a kernel takes its times, and hardly more for what asked for it and how.
TEST(ChunkCodec, WorkTakesLittleMoreThanItsSpans) {
  std::vector<WorkEvent> work;
  const std::vector<SpanEvent> spans = lane(kMaxChunkEvents, 3);
  for (std::size_t i = 0; i < spans.size(); ++i)
    work.push_back({spans[i], 0, 70'000 + 3 * static_cast<std::uint32_t>(i), 1 + spans[i].name % 4});
  for (const Compress compress : kBoth) {
    const std::size_t plain = encode_chunk(std::span(spans), compress).data.size();
    EXPECT_LT(encode_chunk(std::span(work), compress).data.size(), plain + kMaxChunkEvents + 100);
  }
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
  std::vector<SpanEvent> spans(2);
  std::vector<CollectiveEvent> collectives(2);
  std::vector<CounterSample> samples(2);
  std::vector<WorkEvent> work(2);
  EXPECT_EQ(testing::error_of([&] { decode_spans(header, data, spans); }).code(), ErrorCode::kStoreCorrupt);
  EXPECT_EQ(testing::error_of([&] { decode_collectives(header, data, collectives); }).code(), ErrorCode::kStoreCorrupt);
  EXPECT_EQ(testing::error_of([&] { decode_counters(header, data, samples); }).code(), ErrorCode::kStoreCorrupt);
  EXPECT_EQ(testing::error_of([&] { decode_work(header, data, work); }).code(), ErrorCode::kStoreCorrupt);
  EXPECT_EQ(spans.size() + collectives.size() + samples.size() + work.size(), 8u) << "a failure leaves nothing behind";
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

TEST(HostileChunk, EveryOtherByteIsSeenByTheChecksum) {
  for (const EncodedChunk& chunk : one_of_each(6))
    for (std::size_t at = 0; at < chunk.data.size(); ++at) {
      std::vector<std::uint8_t> changed = chunk.data;
      changed[at] ^= static_cast<std::uint8_t>(1 + at % 255);
      std::vector<SpanEvent> out;
      EXPECT_EQ(testing::error_of([&] { decode_spans(chunk.header, changed, out); }).code(), ErrorCode::kStoreCorrupt);
    }
}

// Damage under a checksum that fits: an error, or records within the bounds of the header. Never anything else.
TEST(HostileChunk, RandomDamageIsAnErrorOrRecords) {
  Rng rng(7);
  int refused = 0, read = 0;
  for (int round = 0; round < 4000; ++round) {
    const std::vector<EncodedChunk> chunks = one_of_each(static_cast<std::uint64_t>(round % 16));
    EncodedChunk chunk = chunks[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(chunks.size())))];
    for (std::int64_t i = 0; i <= rng.below(4); ++i) {
      const std::size_t head = std::min<std::size_t>(chunk.data.size(), 80);
      const auto near = static_cast<std::int64_t>(rng.below(2) == 0 ? head : chunk.data.size());
      chunk.data[static_cast<std::size_t>(rng.below(near))] = static_cast<std::uint8_t>(rng.bits());
    }
    chunk.header.crc32c = crc32c(chunk.data);
    std::vector<SpanEvent> spans;
    std::vector<CounterSample> samples;
    try {  // either outcome is right
      if (chunk.header.kind == RecordKind::kCounter)
        decode_counters(chunk.header, chunk.data, samples);
      else
        decode_spans(chunk.header, chunk.data, spans);
      ++read;
      EXPECT_EQ(spans.size() + samples.size(), static_cast<std::size_t>(chunk.header.count));
      for (const SpanEvent& e : spans) {
        EXPECT_LE(e.begin_ns, e.end_ns);
        EXPECT_GE(e.begin_ns, chunk.header.begin_min_ns);
        EXPECT_LE(e.end_ns, chunk.header.end_max_ns);
      }
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kStoreCorrupt);
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(read, 50);
}

TEST(HostileChunk, HeadersThatLieAreRefused) {
  const std::vector<SpanEvent> events = lane(40, 8);
  for (const Compress compress : kBoth) {
    const EncodedChunk chunk = encode_chunk(std::span(events), compress);
    const auto refused = [&](auto&& change) {
      ChunkHeader header = chunk.header;
      change(header);
      std::vector<SpanEvent> out;
      EXPECT_EQ(testing::error_of([&] { decode_spans(header, chunk.data, out); }).code(), ErrorCode::kStoreCorrupt);
      EXPECT_TRUE(out.empty());
    };
    refused([](ChunkHeader& h) { h.count = 0; });
    refused([](ChunkHeader& h) { h.count = -1; });
    refused([](ChunkHeader& h) { ++h.count; });
    refused([](ChunkHeader& h) { h.count = kMaxChunkEvents + 1; });
    refused([](ChunkHeader& h) { h.count = std::numeric_limits<int>::max(); });
    refused([](ChunkHeader& h) { h.codec = static_cast<ChunkCodec>(0); });
    refused([](ChunkHeader& h) { h.codec = static_cast<ChunkCodec>(2); });
    refused([](ChunkHeader& h) { h.kind = RecordKind::kCollective; });
    refused([](ChunkHeader& h) { h.kind = RecordKind::kCounter; });
    refused([](ChunkHeader& h) { h.kind = RecordKind::kWork; });
    refused([](ChunkHeader& h) { h.kind = static_cast<RecordKind>(9); });
    refused([](ChunkHeader& h) { ++h.begin_min_ns; });
    refused([](ChunkHeader& h) { --h.begin_max_ns; });
    refused([](ChunkHeader& h) { ++h.end_max_ns; });
    refused([](ChunkHeader& h) { --h.op_min; });
    refused([](ChunkHeader& h) { ++h.op_max; });
    refused([](ChunkHeader& h) { h.crc32c ^= 1; });
  }
}

TEST(HostileChunk, EventsThatEndBeforeTheyBeginAreRefused) {
  std::vector<SpanEvent> events = lane(10, 9);
  events[4].end_ns = events[4].begin_ns - 1;
  for (const Compress compress : kBoth) {
    const EncodedChunk chunk = encode_chunk(std::span(events), compress);
    std::vector<SpanEvent> out;
    EXPECT_EQ(testing::error_of([&] { decode_spans(chunk.header, chunk.data, out); }).code(), ErrorCode::kStoreCorrupt);
  }
}

// The instruction, the tables, and a third computation bit by bit.
TEST(Crc32c, InstructionAndTablesAgree) {
  Rng rng(10);
  for (std::size_t size = 0; size < 300; ++size) {
    std::vector<std::uint8_t> bytes;
    for (std::size_t i = 0; i < size; ++i) bytes.push_back(static_cast<std::uint8_t>(rng.bits()));
    std::uint32_t crc = ~0u;
    for (const std::uint8_t byte : bytes) {
      crc ^= byte;
      for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? crc >> 1 ^ 0x82f63b78u : crc >> 1;
    }
    EXPECT_EQ(crc32c(bytes), ~crc);
    EXPECT_EQ(crc32c_by_tables(bytes), ~crc);
  }
}

}  // namespace
}  // namespace spscope
