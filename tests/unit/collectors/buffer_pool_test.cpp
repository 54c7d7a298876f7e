#include "collectors/cupti/buffer_pool.h"

#include <gtest/gtest.h>

#include "tests/unit/collectors/sample_buffers.h"

namespace spscope::cupti {
namespace {

using std::chrono::milliseconds;

constexpr PoolOptions kSmall = {.buffer_bytes = 4'096, .num_buffers = 2, .overflow_bytes = 1'024, .max_overflow = 2};

// Writes so many records of 24 bytes. Returns their bytes.
std::size_t write_records(std::span<std::uint8_t> buffer, int count) {
  SampleBuffer records(sizes_of_13());
  for (int i = 0; i < count; ++i) records.add(ExternalCorrelationLayout{.kind = 39});
  std::copy(records.bytes().begin(), records.bytes().end(), buffer.begin());
  return records.bytes().size();
}

TEST(BufferPool, FullBuffersComeInOrderAndAreUsedAgain) {
  BufferPool pool(kSmall, sizes_of_13());
  std::uint8_t* first = nullptr;
  for (int round = 0; round < 10; ++round) {
    const std::span<std::uint8_t> a = pool.take(), b = pool.take();
    ASSERT_EQ(a.size(), 4'096u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.data()) % 8, 0u);
    if (round == 0) first = a.data();
    EXPECT_EQ(std::min(a.data(), b.data()), first);
    EXPECT_TRUE(pool.filled(b.data(), 48));
    EXPECT_TRUE(pool.filled(a.data(), 24));
    const std::optional<FilledBuffer> one = pool.next(milliseconds(0)), two = pool.next(milliseconds(0));
    ASSERT_TRUE(one && two);
    EXPECT_EQ(one->valid.data(), b.data());
    EXPECT_EQ(one->valid.size(), 48u);
    EXPECT_EQ(two->valid.data(), a.data());
    pool.release(*one);
    pool.release(*two);
  }
  EXPECT_FALSE(pool.next(milliseconds(0)));
  EXPECT_EQ(pool.counts(), (PoolCounts{.filled = 20}));
}

TEST(BufferPool, WhenAllAreOutARequestGetsMemoryWhoseRecordsAreCounted) {
  BufferPool pool(kSmall, sizes_of_13());
  const std::span<std::uint8_t> a = pool.take(), b = pool.take(), more = pool.take();
  ASSERT_EQ(more.size(), 1'024u);
  EXPECT_TRUE(pool.filled(more.data(), write_records(more, 7)));
  EXPECT_FALSE(pool.next(milliseconds(0))) << "records of an overflow buffer are not decoded";
  EXPECT_EQ(pool.counts(), (PoolCounts{.overflowed = 1, .dropped_records = 7}));
  const std::span<std::uint8_t> c = pool.take(), d = pool.take();
  EXPECT_EQ(d.size(), 1'024u);
  EXPECT_TRUE(pool.take().empty());
  EXPECT_EQ(pool.counts(), (PoolCounts{.overflowed = 3, .refused = 1, .dropped_records = 7}));
  for (const std::span<std::uint8_t> buffer : {a, b, c, d}) EXPECT_TRUE(pool.filled(buffer.data(), 0));
}

TEST(BufferPool, WhatItNeverGaveIsNotTaken) {
  BufferPool pool(kSmall, sizes_of_13());
  alignas(8) std::uint8_t other[64] = {};
  EXPECT_FALSE(pool.filled(other, 24));
  EXPECT_FALSE(pool.filled(nullptr, 0));
  const std::span<std::uint8_t> a = pool.take();
  EXPECT_FALSE(pool.filled(a.data() + 8, 24));
  EXPECT_TRUE(pool.filled(a.data(), 24));
  EXPECT_FALSE(pool.filled(a.data(), 24)) << "the same buffer twice";
  EXPECT_EQ(pool.counts(), (PoolCounts{.filled = 1}));
  EXPECT_TRUE(pool.filled(pool.take().data(), 1 << 20));
  pool.next(milliseconds(0));
  EXPECT_EQ(pool.next(milliseconds(0))->valid.size(), 4'096u) << "more valid bytes than the buffer has";
}

TEST(BufferPool, AfterCloseWhatWasQueuedComesAndTheRestIsCounted) {
  BufferPool pool(kSmall, sizes_of_13());
  const std::span<std::uint8_t> queued = pool.take(), late = pool.take();
  pool.filled(queued.data(), write_records(queued, 3));
  pool.close();
  EXPECT_FALSE(pool.drained());
  const std::optional<FilledBuffer> buffer = pool.next(milliseconds(0));
  ASSERT_TRUE(buffer);
  pool.release(*buffer);
  EXPECT_TRUE(pool.drained());
  const std::span<std::uint8_t> asked_late = pool.take();
  EXPECT_EQ(asked_late.size(), 1'024u) << "CUPTI before 12.9 may crash when it is refused";
  EXPECT_TRUE(pool.filled(late.data(), write_records(late, 5)));
  EXPECT_TRUE(pool.filled(asked_late.data(), write_records(asked_late, 2)));
  EXPECT_EQ(pool.counts(), (PoolCounts{.filled = 1, .overflowed = 1, .dropped_records = 7}));
}

TEST(BufferPool, CountsTheMemoryThatWasWrittenTo) {
  BufferPool pool(kSmall, sizes_of_13());
  EXPECT_EQ(pool.most_bytes(), 0);
  std::vector<std::span<std::uint8_t>> out;
  for (int i = 0; i < 4; ++i) out.push_back(pool.take());  // all there are, and two more
  const std::size_t written[] = {480, 24, 48, 48};
  for (std::size_t i = 0; i < 4; ++i) pool.filled(out[i].data(), written[i]);
  EXPECT_EQ(pool.most_bytes(), 480 + 24 + 2 * 1'024);
  while (const std::optional<FilledBuffer> buffer = pool.next(milliseconds(0))) pool.release(*buffer);
  pool.filled(pool.take().data(), 240);
  EXPECT_GE(pool.most_bytes(), 480 + 24 + 2 * 1'024) << "the most at once";
  EXPECT_LE(pool.most_bytes(), 480 + 240 + 2 * 1'024);
}

// 64 MB is the limit of a collector. Buffers that are refused are beyond it.
TEST(BufferPool, AllThatIsEverOutIsLessThan64Megabytes) {
  BufferPool pool({}, sizes_of_13());
  std::vector<std::span<std::uint8_t>> out;
  std::size_t num_bytes = 0;
  for (std::span<std::uint8_t> buffer = pool.take(); !buffer.empty(); buffer = pool.take()) {
    num_bytes += buffer.size();
    out.push_back(buffer);
  }
  EXPECT_GT(num_bytes, 56'000'000u);
  EXPECT_LT(num_bytes, 64'000'000u);
  for (const std::span<std::uint8_t> buffer : out) EXPECT_TRUE(pool.filled(buffer.data(), 0));
}

}  // namespace
}  // namespace spscope::cupti
