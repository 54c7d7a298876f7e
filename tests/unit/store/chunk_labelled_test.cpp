// Version 2 of the records: passes that repeat take few bytes, every record comes back, and no bytes do harm.
#include "backend/store/chunk/chunk_labelled.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "backend/base/bytes.h"
#include "backend/base/rng.h"
#include "tests/unit/store/sample_store.h"

namespace spscope {
namespace {

using Limits = std::numeric_limits<std::int64_t>;

// A lane of transfers: the same few ops pass after pass, each with its own usual times, and long gaps between passes.
std::vector<CollectiveEvent> passes(int count, int ops, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<CollectiveEvent> events;
  std::int64_t now = 5'000'000'000;
  for (int i = 0; i < count; ++i) {
    const int op = i % ops;
    CollectiveEvent e;
    e.span.begin_ns = now += op == 0 ? 1'000'000 + rng.below(200'000) : 200 + rng.below(100);
    e.entry_ns = e.span.begin_ns;
    e.transfer_begin_ns = e.entry_ns + rng.below(60'000);
    e.span.end_ns = e.transfer_end_ns = now = e.transfer_begin_ns + 1000 * (op + 1) + rng.below(256);
    e.span.op_id = 100 + 3 * op;
    e.span.name = static_cast<NameId>(1 + op % 3);
    e.span.flags = event_flags(EventCategory::kTransfer);
    e.sequence = 40 + op;
    e.bytes = 1'234'567 + op;
    e.communicator = 9;
    e.peer = op;
    events.push_back(e);
  }
  return events;
}

std::vector<SpanEvent> spans_of(const std::vector<CollectiveEvent>& events) {
  std::vector<SpanEvent> spans;
  for (const CollectiveEvent& e : events) spans.push_back(e.span);
  return spans;
}

std::vector<CollectiveEvent> read_back(const EncodedChunk& chunk) {
  std::vector<CollectiveEvent> events;
  decode_collectives(chunk.header, chunk.data, events);
  return events;
}

// The bytes as the layout says them: two passes over two ops, the second of which takes its time once.
TEST(ChunkLabelled, LayoutIsAsWritten) {
  const std::vector<SpanEvent> events = {{.begin_ns = 1000, .end_ns = 1005, .op_id = 7, .name = 2, .flags = 1},
                                         {.begin_ns = 1006, .end_ns = 1009, .op_id = 8, .name = 3, .flags = 4},
                                         {.begin_ns = 1010, .end_ns = 1016, .op_id = 7, .name = 2, .flags = 1},
                                         {.begin_ns = 1017, .end_ns = 1019, .op_id = 8, .name = 3, .flags = 4}};
  const std::vector<std::uint8_t> expected = {
      4,    0,          2,          0,              // records, labels
      1,    1,          1,                          // widths of op, name, flags
      0xe8, 3,          0,          0, 0, 0, 0, 0,  // 1000
      1,    0,          0,          0, 1, 0, 0, 0,  // labels: one group, no exceptions, 1 byte
      1,    0,          0,          0, 2, 0, 0, 0,  // gaps
      1,    0,          0,          0, 3, 0, 0, 0,  // durations
      16,   2,                                      // ops +8, +1
      2,    3,                                      // names
      1,    4,                                      // flags
      0,                                            // labels: 0 bits each
      2,    0b10101000,                             // gaps 0, 1, 1, 1 zigzag, in 2 bits each
      3,    0b10011101, 0b00000101,                 // durations 5, 3, 6, 2 in 3 bits each
      0,    0,          0,          0, 0, 0, 0, 0};
  const EncodedChunk chunk = encode_chunk(std::span(events), ChunkCodec::kPacked);
  EXPECT_EQ(chunk.header.record_version, 2);
  EXPECT_EQ(chunk.data, expected);
  std::vector<SpanEvent> read;
  decode_spans(chunk.header, expected, read);
  EXPECT_EQ(read, events);
}

TEST(ChunkLabelled, PassesTakeTheBitsOfTheirTimes) {
  const std::vector<CollectiveEvent> events = passes(kMaxChunkEvents, 8, 1);
  const EncodedChunk packed = encode_chunk(std::span(events), ChunkCodec::kPacked);
  // In bits an event: gaps 19 once a pass and 8 otherwise, durations 17, the move 14 at most. Version 1 takes 20 bytes.
  EXPECT_LT(packed.data.size() * 8, std::size_t{42} * kMaxChunkEvents);
  EXPECT_GT(encode_chunk(std::span(events), ChunkCodec::kPacked, 1).data.size(), 17u * kMaxChunkEvents);
  EXPECT_EQ(read_back(packed), events);
  // Uniform noise alone has gaps of 17.6 bits once a pass and 6.6 otherwise, 15.9 of wait and 8 of move.
  const EncodedChunk coded = encode_chunk(std::span(events), ChunkCodec::kCoded);
  EXPECT_LT(coded.data.size() * 8, std::size_t{36} * kMaxChunkEvents);
  EXPECT_EQ(read_back(coded), events);
}

// Times of a clock that ticks every 10.0149 ns take 3.3 bits less each.
TEST(ChunkLabelled, CodedTimesOfACoarseClockAreTicks) {
  std::vector<CollectiveEvent> events = passes(kMaxChunkEvents, 8, 9);
  const std::size_t fine = encode_chunk(std::span(events), ChunkCodec::kCoded).data.size();
  for (CollectiveEvent& e : events)
    for (std::int64_t* time : {&e.span.begin_ns, &e.span.end_ns, &e.entry_ns, &e.transfer_begin_ns, &e.transfer_end_ns})
      *time = static_cast<std::int64_t>(static_cast<double>(*time * 10'000 / 100'149) * 10.0149);
  const EncodedChunk coarse = encode_chunk(std::span(events), ChunkCodec::kCoded);
  EXPECT_LT(coarse.data.size() * 8, fine * 8 - std::size_t{9} * kMaxChunkEvents);
  EXPECT_EQ(read_back(coarse), events);
}

// Every kind of chunk that random and extreme numbers make comes back from codec 3.
TEST(ChunkLabelled, CodedRecordsComeBack) {
  Rng rng(10);
  for (int round = 0; round < 200; ++round) {
    const int count = 1 + static_cast<int>(rng.below(300)), ops = 1 + static_cast<int>(rng.below(80));
    std::vector<CollectiveEvent> events = passes(count, ops, rng.bits());
    for (CollectiveEvent& e : events) {
      if (rng.below(8) != 0) continue;
      const std::int64_t any = static_cast<std::int64_t>(rng.bits() >> rng.below(64));
      std::int64_t* const times[] = {&e.entry_ns, &e.transfer_begin_ns, &e.transfer_end_ns, &e.span.op_id, &e.bytes};
      *times[rng.below(5)] = rng.below(4) == 0 ? Limits::min() : any;
      if (rng.below(4) == 0) e.span.end_ns = kNeverEnded;
      if (rng.below(4) == 0) e.span.begin_ns = Limits::min();
    }
    const EncodedChunk chunk = encode_chunk(std::span(events), ChunkCodec::kCoded);
    ASSERT_EQ(read_back(chunk), events) << "round " << round;
    std::vector<SpanEvent> spans;
    const std::vector<SpanEvent> written = spans_of(events);
    const EncodedChunk span_chunk = encode_chunk(std::span(written), ChunkCodec::kCoded);
    decode_spans(span_chunk.header, span_chunk.data, spans);
    ASSERT_EQ(spans, written) << "round " << round;
  }
}

// Ops that come once, and in any order: no worse than a few bytes an event more than version 1.
TEST(ChunkLabelled, EventsThatDoNotRepeatTakeLittleMore) {
  Rng rng(2);
  std::vector<CollectiveEvent> events = passes(kMaxChunkEvents, kMaxChunkEvents, 3);
  const auto size = [&](int version) {
    return encode_chunk(std::span(events), ChunkCodec::kPacked, version).data.size();
  };
  EXPECT_LT(size(2), size(1));
  for (CollectiveEvent& e : events) std::swap(e, events[static_cast<std::size_t>(rng.below(kMaxChunkEvents))]);
  EXPECT_LT(size(2), size(1) + 4u * kMaxChunkEvents);
  EXPECT_EQ(read_back(encode_chunk(std::span(events), ChunkCodec::kPacked)), events);
}

// A few values far from all others are exceptions, wherever they are and however large.
TEST(ChunkLabelled, ExceptionsComeBack) {
  for (const int count : {1, 2, 255, 256, 257, 600})
    for (const int ops : {1, 3, 64, 65})
      for (const ChunkCodec codec : {ChunkCodec::kPacked, ChunkCodec::kCoded}) {
        std::vector<CollectiveEvent> events = passes(count, ops, 4);
        CollectiveEvent& last = events.back();
        last.span.end_ns = kNeverEnded, last.span.flags |= kEventUnfinished;
        events.front().transfer_end_ns = Limits::min();
        events[events.size() / 2].transfer_begin_ns = Limits::max();
        events[events.size() / 3].entry_ns = 0;
        const EncodedChunk chunk = encode_chunk(std::span(events), codec);
        EXPECT_EQ(read_back(chunk), events) << count << " events of " << ops;
        std::vector<SpanEvent> spans;
        decode_spans(chunk.header, chunk.data, spans);
        EXPECT_EQ(spans, spans_of(events));
      }
}

// Any piece of any column is what version 1 says it is.
TEST(ChunkLabelled, ColumnsAreThoseOfVersion1) {
  Rng rng(5);
  const std::vector<CollectiveEvent> events = passes(1500, 7, 6);
  const EncodedChunk one = encode_chunk(std::span(events), ChunkCodec::kPacked, 1);
  const EncodedChunk two = encode_chunk(std::span(events), ChunkCodec::kPacked, 2);
  const ChunkColumns a(one.header, one.data), b(two.header, two.data);
  EXPECT_EQ(b.first_begin_ns(), a.first_begin_ns());
  for (int round = 0; round < 400; ++round) {
    const int column = static_cast<int>(rng.below(12)), first = static_cast<int>(rng.below(1500));
    std::vector<std::uint64_t> wanted(static_cast<std::size_t>(rng.below(1501 - first))), got(wanted.size());
    a.unpack(column, first, wanted);
    b.unpack(column, first, got);
    ASSERT_EQ(got, wanted) << "column " << column << " from " << first;
  }
}

// Every byte of the data set to every value, under a checksum that fits: an error, or as many records as the row says.
TEST(HostileLabelledChunk, EveryByteIsAnErrorOrRecords) {
  std::vector<CollectiveEvent> events = passes(48, 5, 7);
  events[30].span.end_ns = kNeverEnded;
  for (const ChunkCodec codec : {ChunkCodec::kPacked, ChunkCodec::kCoded}) {
    EncodedChunk chunk = encode_chunk(std::span(events), codec);
    std::size_t refused = 0;
    for (std::uint8_t& byte : chunk.data) {
      const std::uint8_t before = byte;
      for (int value = 0; value < 256; ++value) {
        byte = static_cast<std::uint8_t>(value);
        chunk.header.crc32c = crc32c(chunk.data);
        std::vector<CollectiveEvent> read;
        try {
          decode_collectives(chunk.header, chunk.data, read);
          EXPECT_EQ(read.size(), events.size());
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::kStoreCorrupt);
          EXPECT_TRUE(read.empty());
          ++refused;
        }
      }
      byte = before;
    }
    EXPECT_GT(refused, chunk.data.size() * 50);
  }
}

// The numbers of the head, each at its extremes: refused before anything is made of them.
TEST(HostileLabelledChunk, CountsThatLieAreRefused) {
  const std::vector<SpanEvent> events = spans_of(passes(40, 5, 8));
  const EncodedChunk chunk = encode_chunk(std::span(events), ChunkCodec::kPacked);
  constexpr std::size_t kHeads = 4 + 3 + 8;
  const auto refused = [&](std::size_t at, const auto& number) {
    EncodedChunk changed = chunk;
    std::memcpy(changed.data.data() + at, &number, sizeof number);
    changed.header.crc32c = crc32c(changed.data);
    std::vector<SpanEvent> out;
    EXPECT_EQ(testing::error_of([&] { decode_spans(changed.header, changed.data, out); }).code(),
              ErrorCode::kStoreCorrupt)
        << "at " << at;
  };
  for (const std::uint16_t labels : {0, 4, 6, 41, 0xffff}) refused(2, labels);
  for (const std::uint16_t records : {0, 39, 41, 0xffff}) refused(0, records);
  for (std::size_t column = 0; column < 3; ++column) {
    refused(4 + column, std::uint8_t{9});
    refused(4 + column, std::uint8_t{255});
    const std::size_t head = kHeads + column * sizeof(BitColumnHead);
    for (const std::uint8_t groups : {0, 4, 64, 65, 255}) refused(head, groups);
    refused(head + 1, std::uint8_t{57});
    for (const std::uint16_t exceptions : {1, 41, 0xffff}) refused(head + 2, exceptions);
    for (const std::uint32_t bytes : {0u, 100'000u, 0x7fffffffu, 0xffffffffu}) refused(head + 4, bytes);
  }
}

}  // namespace
}  // namespace spscope
