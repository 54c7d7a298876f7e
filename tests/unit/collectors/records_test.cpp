#include "collectors/cupti/records.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "tests/unit/collectors/sample_buffers.h"

namespace spscope::cupti {
namespace {

struct Decoded {
  std::vector<Record> records;
  DecodeCounts counts;
};

// Each buffer lies in memory of exactly its size, so that the address sanitizer sees a read beyond it.
Decoded decode(const std::vector<std::uint8_t>& bytes, const RecordSizes& sizes) {
  Decoded decoded;
  const auto exact = std::make_unique<std::uint8_t[]>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), exact.get());
  decoded.counts = decode_records({exact.get(), bytes.size()}, sizes,
                                  [&](const Record& record) { decoded.records.push_back(record); });
  EXPECT_EQ(count_records({exact.get(), bytes.size()}, sizes), decoded.counts.records());
  return decoded;
}

TEST(Records, EachKindHasItsFields) {
  const Decoded decoded = decode(one_of_each(sizes_of_13()), sizes_of_13());
  const std::vector<Record> expected = {
      KernelRecord{.begin_ns = 1'000,
                   .end_ns = 1'500,
                   .place = {3, 1, 7},
                   .correlation = 41,
                   .grid = {100, 2, 1},
                   .block = {128, 1, 1},
                   .registers_per_thread = 96,
                   .static_shared_bytes = 512,
                   .dynamic_shared_bytes = 65'536,
                   .name = reinterpret_cast<const char*>(std::uintptr_t{0xdead'beef})},
      CopyRecord{.begin_ns = 10, .end_ns = 20, .bytes = 4'096, .correlation = 42, .copy_kind = 1},
      CopyRecord{.begin_ns = 11,
                 .end_ns = 21,
                 .bytes = 64,
                 .correlation = 43,
                 .between_gpus = true,
                 .source_device = 2,
                 .target_device = 5},
      MemsetRecord{.begin_ns = 12, .end_ns = 22, .bytes = 256, .correlation = 44},
      SynchronizationRecord{.begin_ns = 13, .end_ns = 23, .type = 3, .correlation = 45, .stream = kNoStream},
      OverheadRecord{.begin_ns = 14, .end_ns = 24, .overhead_kind = 65'536},
      ApiRecord{.begin_ns = 15, .end_ns = 25, .driver = true, .callback = 307, .thread = 77, .correlation = 46},
      ApiRecord{.begin_ns = 15, .end_ns = 25, .callback = 211, .thread = 77, .correlation = 47},
      ExternalCorrelationRecord{.external_kind = 3, .correlation = 41, .external_id = 1'234},
      MarkerRecord{.time_ns = 16, .flags = 2, .id = 5, .thread = 77}};
  EXPECT_EQ(decoded.records, expected);
  EXPECT_EQ(decoded.counts, (DecodeCounts{.decoded = 10, .other = 1}));
}

TEST(Records, EverySizeOfAKernelThatIsKnownIsReadAndNoOther) {
  const std::vector<std::uint32_t> known = {144, 160, 168, 176, 200, 208, 216, 224, 232, 248};
  RecordSizes sizes = sizes_of_13();
  for (std::uint32_t bytes = 112; bytes <= 304; bytes += 8) {
    sizes.bytes[10] = bytes;
    SampleBuffer buffer(sizes);
    buffer.add(sample_kernel()).add(sample_kernel()).add(ApiLayout{.kind = 5, .start = 1, .end = 2});
    const Decoded decoded = decode(buffer.bytes(), sizes);
    const bool is_known = std::find(known.begin(), known.end(), bytes) != known.end();
    EXPECT_EQ(sizes.readable(Kind::kKernel), is_known) << bytes;
    // What stands behind kernels of a size that is not known is read: they are stepped over by their size.
    const DecodeCounts expected = is_known ? DecodeCounts{.decoded = 3}
                                           : DecodeCounts{.decoded = 1, .unreadable = 2, .unreadable_bytes = 2 * bytes};
    EXPECT_EQ(decoded.counts, expected) << bytes;
  }
}

TEST(Records, ARecordWithoutTimesIsCountedAndNotHandedOver) {
  SampleBuffer buffer(sizes_of_13());
  KernelLayout kernel = sample_kernel();
  kernel.end = 0;
  buffer.add(kernel).add(MarkerLayout{.kind = 12}).add(sample_kernel());
  const Decoded decoded = decode(buffer.bytes(), sizes_of_13());
  EXPECT_EQ(decoded.counts, (DecodeCounts{.decoded = 1, .undated = 2}));
  EXPECT_EQ(decoded.records.size(), 1u);
}

TEST(Records, AnImpossibleTimeOrCountOfBytesIsUnreadable) {
  SampleBuffer buffer(sizes_of_13());
  KernelLayout kernel = sample_kernel();
  kernel.start = std::numeric_limits<std::uint64_t>::max() - 5;
  buffer.add(kernel).add(CopyLayout{.kind = 1, .bytes = ~std::uint64_t{0}, .start = 1, .end = 2});
  EXPECT_EQ(decode(buffer.bytes(), sizes_of_13()).counts,
            (DecodeCounts{.unreadable = 2, .unreadable_bytes = 216 + 96}));
}

TEST(Records, ABufferCutAnywhereGivesTheRecordsBeforeTheCut) {
  const std::vector<std::uint8_t> whole = one_of_each(sizes_of_13());
  const std::vector<Record> all = decode(whole, sizes_of_13()).records;
  for (std::size_t valid = 0; valid < whole.size(); ++valid) {
    const Decoded decoded = decode({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(valid)}, sizes_of_13());
    ASSERT_LE(decoded.records.size(), all.size());
    EXPECT_TRUE(std::equal(decoded.records.begin(), decoded.records.end(), all.begin())) << valid;
    EXPECT_EQ(decoded.counts.unreadable, decoded.counts.unreadable_bytes > 0 ? 1 : 0) << valid;
  }
}

TEST(Records, AKindThatThereIsNotEndsTheBuffer) {
  for (const std::uint32_t kind : {0u, 63u, 64u, 7'777u, 0xffff'ffffu}) {
    std::vector<std::uint8_t> bytes = one_of_each(sizes_of_13());
    std::memcpy(bytes.data() + 216, &kind, sizeof kind);
    const Decoded decoded = decode(bytes, sizes_of_13());
    EXPECT_EQ(decoded.records.size(), 1u);
    EXPECT_EQ(decoded.counts.unreadable, 1);
    EXPECT_EQ(decoded.counts.unreadable_bytes, static_cast<std::int64_t>(bytes.size()) - 216);
  }
}

}  // namespace
}  // namespace spscope::cupti
