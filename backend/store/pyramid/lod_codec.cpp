#include "backend/store/pyramid/lod_codec.h"

#include <zstd.h>

#include <string>

#include "backend/base/bytes.h"
#include "backend/base/check.h"
#include "backend/base/error.h"

namespace spscope {

namespace {

constexpr int kStripVersion = 2;
constexpr int kZstdLevel = 1;
constexpr std::size_t kWorthCompressing = 64;  // bytes; below, the frame of zstd outweighs what it saves

}  // namespace

std::vector<std::uint8_t> encode_strip_block(std::span<const std::uint8_t> strip) {
  SPSCOPE_CHECK(!strip.empty() && strip.size() <= kMaxStripBlock);
  ByteWriter out;
  out.unsigned_number(kStripVersion);
  std::string packed(strip.size() - 1, '\0');  // no room for as much as there was: then the call fails
  const std::size_t size = strip.size() < kWorthCompressing
                               ? 0
                               : ZSTD_compress(packed.data(), packed.size(), strip.data(), strip.size(), kZstdLevel);
  const bool compressed = size > 0 && ZSTD_isError(size) == 0;
  out.unsigned_number(compressed ? 1 : 0);
  out.text(compressed ? std::string_view(packed).substr(0, size)
                      : std::string_view(reinterpret_cast<const char*>(strip.data()), strip.size()));
  return std::move(out).finish();
}

std::vector<std::uint8_t> decode_strip_block(std::int64_t num_buckets, std::span<const std::uint8_t> data) {
  ByteReader in(data, "a strip of a pyramid");
  if (in.unsigned_number() != kStripVersion) in.fail("its layout is not known");
  if (num_buckets < 1 || num_buckets > kMaxStripBlock) in.fail("it has too many buckets");
  const bool compressed = in.unsigned_number() != 0;
  const std::string bytes = in.text();
  in.expect_end();
  std::vector<std::uint8_t> strip(static_cast<std::size_t>(num_buckets));
  const std::size_t size =
      compressed ? ZSTD_decompress(strip.data(), strip.size(), bytes.data(), bytes.size()) : bytes.size();
  if (size != strip.size()) in.fail("it has another number of buckets");
  if (!compressed) strip.assign(bytes.begin(), bytes.end());
  return strip;
}

}  // namespace spscope
