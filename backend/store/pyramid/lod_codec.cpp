#include "backend/store/pyramid/lod_codec.h"

#include <zstd.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <string>

#include "backend/base/bytes.h"
#include "backend/base/check.h"
#include "backend/base/error.h"

namespace spscope {

namespace {

constexpr int kLodVersion = 1;
constexpr int kZstdLevel = 1;
constexpr std::size_t kWorthCompressing = 64;  // bytes; below, the frame of zstd outweighs what it saves

using Values = std::vector<std::uint64_t>;

std::uint64_t bits(std::int64_t x) { return static_cast<std::uint64_t>(x); }

// Bytes of a column, lowest bytes first.
std::string planes_of(const Values& values, std::size_t width) {
  std::string planes(values.size() * width, '\0');
  for (std::size_t byte = 0; byte < width; ++byte)
    for (std::size_t i = 0; i < values.size(); ++i)
      planes[byte * values.size() + i] = static_cast<char>(values[i] >> 8 * byte);
  return planes;
}

void write_column(ByteWriter& out, const Values& values) {
  std::uint64_t all = 0;
  for (const std::uint64_t value : values) all |= value;
  const auto width = static_cast<std::size_t>(std::bit_width(all) + 7) / 8;
  const std::string planes = planes_of(values, width);
  out.unsigned_number(width);
  if (planes.size() >= kWorthCompressing) {
    std::string packed(planes.size() - 1, '\0');  // no room for as much as there was: then the call fails
    const std::size_t size = ZSTD_compress(packed.data(), packed.size(), planes.data(), planes.size(), kZstdLevel);
    if (ZSTD_isError(size) == 0) {
      out.unsigned_number(1);
      out.text(std::string_view(packed).substr(0, size));
      return;
    }
  }
  out.unsigned_number(0);
  out.text(planes);
}

Values read_column(ByteReader& in, std::size_t num_values, std::size_t max_width) {
  const auto width = static_cast<std::size_t>(in.unsigned_number());
  if (width > max_width) in.fail("a column is too wide");
  const bool compressed = in.unsigned_number() != 0;
  std::string planes = in.text();
  if (compressed) {
    std::string unpacked(num_values * width, '\0');
    const std::size_t size = ZSTD_decompress(unpacked.data(), unpacked.size(), planes.data(), planes.size());
    if (size != unpacked.size()) in.fail("a column cannot be decompressed");
    planes = std::move(unpacked);
  }
  if (planes.size() != num_values * width) in.fail("a column has another size");
  Values values(num_values);
  for (std::size_t byte = 0; byte < width; ++byte)
    for (std::size_t i = 0; i < num_values; ++i)
      values[i] |= std::uint64_t{static_cast<std::uint8_t>(planes[byte * num_values + i])} << 8 * byte;
  return values;
}

Values column_of(std::span<const LodBucket> buckets, const std::function<std::uint64_t(const LodBucket&)>& value) {
  Values values;
  values.reserve(buckets.size());
  for (const LodBucket& bucket : buckets) values.push_back(value(bucket));
  return values;
}

std::uint64_t begin_of_bucket(std::int64_t bucket, int shift) { return bits(bucket) << shift; }

void write_longest(ByteWriter& out, int shift, std::int64_t first_bucket, std::span<const LodBucket> buckets) {
  Values begin, length, op, name, flags;
  std::int64_t last_op = -1;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    if (!buckets[i].longest) continue;
    const SpanEvent& event = *buckets[i].longest;
    begin.push_back(zigzag(bits(event.begin_ns) - begin_of_bucket(first_bucket + static_cast<std::int64_t>(i), shift)));
    length.push_back(event.end_ns == kNeverEnded ? 0 : bits(event.end_ns) - bits(event.begin_ns) + 1);
    op.push_back(zigzag(bits(event.op_id) - bits(last_op)));
    name.push_back(event.name);
    flags.push_back(event.flags);
    last_op = event.op_id;
  }
  for (const Values* column : {&begin, &length, &op, &name, &flags}) write_column(out, *column);
}

bool touched(const LodBucket& bucket) {
  return bucket.count > 0 || std::any_of(bucket.busy_ns.begin(), bucket.busy_ns.end(), [](auto ns) { return ns > 0; });
}

void read_longest(ByteReader& in, int shift, std::int64_t first_bucket, std::vector<LodBucket>& buckets) {
  const auto num_touched = static_cast<std::size_t>(std::count_if(buckets.begin(), buckets.end(), touched));
  const Values begin = read_column(in, num_touched, 8), length = read_column(in, num_touched, 8),
               op = read_column(in, num_touched, 8), name = read_column(in, num_touched, 4),
               flags = read_column(in, num_touched, 4);
  std::size_t next = 0;
  std::uint64_t last_op = bits(-1);
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    if (!touched(buckets[i])) continue;
    SpanEvent& event = buckets[i].longest.emplace();
    const std::uint64_t bucket_begin = begin_of_bucket(first_bucket + static_cast<std::int64_t>(i), shift);
    event.begin_ns = static_cast<std::int64_t>(bucket_begin + unzigzag(begin[next]));
    event.end_ns = length[next] == 0 ? kNeverEnded : static_cast<std::int64_t>(bits(event.begin_ns) + length[next] - 1);
    if (event.end_ns < event.begin_ns) in.fail("the longest event of a bucket ends before it begins");
    last_op += unzigzag(op[next]);
    event.op_id = static_cast<std::int64_t>(last_op);
    event.name = static_cast<NameId>(name[next]);
    event.flags = static_cast<std::uint32_t>(flags[next]);
    ++next;
  }
}

std::int64_t nanoseconds(ByteReader& in, std::uint64_t x) {
  if (x > bits(std::numeric_limits<std::int64_t>::max())) in.fail("a bucket has too many of something");
  return static_cast<std::int64_t>(x);
}

void check_version(ByteReader& in) {
  if (in.unsigned_number() != kLodVersion) in.fail("its layout is not known");
}

void check_num_buckets(ByteReader& in, std::int64_t num_buckets, int most) {
  if (num_buckets < 1 || num_buckets > most) in.fail("it has too many buckets");
}

}  // namespace

std::vector<std::uint8_t> encode_level_block(int shift, std::int64_t first_bucket, std::span<const LodBucket> buckets) {
  SPSCOPE_CHECK(!buckets.empty() && buckets.size() <= kMaxLevelBlock);
  ByteWriter out;
  out.unsigned_number(kLodVersion);
  std::uint64_t busy = 0;
  for (const LodBucket& bucket : buckets)
    for (std::size_t c = 0; c < bucket.busy_ns.size(); ++c) busy |= std::uint64_t{bucket.busy_ns[c] > 0} << c;
  out.unsigned_number(busy);
  write_column(out, column_of(buckets, [](const LodBucket& bucket) { return bits(bucket.count); }));
  for (std::size_t c = 0; c < kNumEventCategories; ++c)
    if ((busy >> c & 1) != 0)
      write_column(out, column_of(buckets, [c](const LodBucket& bucket) { return bits(bucket.busy_ns[c]); }));
  write_longest(out, shift, first_bucket, buckets);
  return std::move(out).finish();
}

std::vector<LodBucket> decode_level_block(int shift, std::int64_t first_bucket, std::int64_t num_buckets,
                                          std::span<const std::uint8_t> data) {
  ByteReader in(data, "a level of a pyramid");
  check_version(in);
  check_num_buckets(in, num_buckets, kMaxLevelBlock);
  const std::uint64_t busy = in.unsigned_number();
  if (busy >> kNumEventCategories != 0) in.fail("it has a category that is not known");
  std::vector<LodBucket> buckets(static_cast<std::size_t>(num_buckets));
  const Values count = read_column(in, buckets.size(), 8);
  for (std::size_t i = 0; i < buckets.size(); ++i) buckets[i].count = nanoseconds(in, count[i]);
  for (std::size_t c = 0; c < kNumEventCategories; ++c) {
    if ((busy >> c & 1) == 0) continue;
    const Values ns = read_column(in, buckets.size(), 8);
    for (std::size_t i = 0; i < buckets.size(); ++i) buckets[i].busy_ns[c] = nanoseconds(in, ns[i]);
  }
  read_longest(in, shift, first_bucket, buckets);
  in.expect_end();
  return buckets;
}

std::vector<std::uint8_t> encode_strip_block(std::span<const std::uint8_t> strip) {
  SPSCOPE_CHECK(!strip.empty() && strip.size() <= kMaxStripBlock);
  ByteWriter out;
  out.unsigned_number(kLodVersion);
  write_column(out, Values(strip.begin(), strip.end()));
  return std::move(out).finish();
}

std::vector<std::uint8_t> decode_strip_block(std::int64_t num_buckets, std::span<const std::uint8_t> data) {
  ByteReader in(data, "a strip of a pyramid");
  check_version(in);
  check_num_buckets(in, num_buckets, kMaxStripBlock);
  const Values values = read_column(in, static_cast<std::size_t>(num_buckets), 1);
  in.expect_end();
  return {values.begin(), values.end()};
}

}  // namespace spscope
