// A block of a pyramid with a valid checksum, after a byte for the shift and two for the number of buckets. What is
// accepted is so many buckets, and the same after it was written and read again.
#include "backend/base/check.h"
#include "backend/store/pyramid/lod_codec.h"
#include "tests/fuzz/checksum.h"
#include "tests/fuzz/fuzz_target.h"

namespace spscope::fuzz {
namespace {

constexpr std::size_t kHeaderBytes = 3;

std::string block(int shift, std::size_t buckets, const std::vector<std::uint8_t>& data) {
  return std::string{static_cast<char>(shift), static_cast<char>(buckets & 255), static_cast<char>(buckets >> 8)} +
         as_text(data);
}

}  // namespace

std::vector<std::string> seeds() {
  std::vector<SpanEvent> events;
  for (std::int64_t i = 0; i < 100; ++i)
    events.push_back({.begin_ns = 50 * i, .end_ns = 50 * i + 20 + i % 7, .op_id = i});
  LodLevel level = make_lod_level(9, 0, 6'000);
  add_events(level, events, 6'000);
  return {block(level.shift, level.buckets.size(), encode_level_block(level.shift, level.first_bucket, level.buckets)),
          block(99, level.buckets.size(), encode_strip_block(lod_strip(level)))};
}

// Shifts beyond the largest stand for a strip.
void read(std::string_view input) {
  if (input.size() < kHeaderBytes) return;
  const int shift = static_cast<unsigned char>(input[0]) % 100;
  const std::int64_t buckets = static_cast<unsigned char>(input[1]) | static_cast<unsigned char>(input[2]) << 8;
  const std::span<const std::uint8_t> data = as_bytes(input.substr(kHeaderBytes));
  if (shift > kMaxLodShift) {
    const std::vector<std::uint8_t> strip = decode_strip_block(buckets, data);
    SPSCOPE_CHECK(strip.size() == static_cast<std::size_t>(buckets));
    SPSCOPE_CHECK(decode_strip_block(buckets, encode_strip_block(strip)) == strip);
    return;
  }
  if (buckets > kMaxLevelBlock) return;
  const std::vector<LodBucket> level = decode_level_block(shift, 0, buckets, data);
  SPSCOPE_CHECK(level.size() == static_cast<std::size_t>(buckets));
  SPSCOPE_CHECK(decode_level_block(shift, 0, buckets, encode_level_block(shift, 0, level)) == level);
}

}  // namespace spscope::fuzz

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t num_bytes, std::size_t max_bytes,
                                               unsigned int) {
  num_bytes = LLVMFuzzerMutate(data, num_bytes, max_bytes);
  if (num_bytes > 3) spscope::fuzz::mend_checksum({data + 3, num_bytes - 3});
  return num_bytes;
}
