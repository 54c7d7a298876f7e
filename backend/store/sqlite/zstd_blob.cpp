#include "backend/store/sqlite/zstd_blob.h"

#include <fmt/format.h>
#include <zstd.h>

#include "backend/base/check.h"
#include "backend/base/error.h"

namespace spscope {

namespace {

constexpr int kLevel = 3;
// A block of zstd gives at most 128 KiB for its least size of 4 bytes.
constexpr std::size_t kMaxGrowth = (128 << 10) / 4;

[[noreturn]] void corrupt_blob(std::string_view what, std::string_view why) {
  throw Error(ErrorCode::kStoreCorrupt, fmt::format("cannot read {}: {}", what, why),
              "the file is damaged; copy it again from where it was made");
}

}  // namespace

std::vector<std::uint8_t> compress(std::span<const std::uint8_t> bytes) {
  std::vector<std::uint8_t> out(ZSTD_compressBound(bytes.size()));
  const std::size_t size = ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), kLevel);
  SPSCOPE_CHECK(ZSTD_isError(size) == 0);
  out.resize(size);
  out.shrink_to_fit();
  return out;
}

std::size_t decompressed_bytes(std::span<const std::uint8_t> bytes, std::size_t max_bytes, std::string_view what) {
  const unsigned long long size = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN)
    corrupt_blob(what, "it is not compressed as said");
  if (size > max_bytes) corrupt_blob(what, fmt::format("it has {} bytes, more than {}", size, max_bytes));
  if (size / kMaxGrowth > bytes.size())
    corrupt_blob(what, fmt::format("{} bytes cannot become {}", bytes.size(), size));
  return static_cast<std::size_t>(size);
}

void decompress(std::span<const std::uint8_t> bytes, std::size_t max_bytes, std::string_view what,
                std::vector<std::uint8_t>& out) {
  const std::size_t size = decompressed_bytes(bytes, max_bytes, what), old_size = out.size();
  out.resize(old_size + size);
  if (ZSTD_decompress(out.data() + old_size, size, bytes.data(), bytes.size()) != size)
    corrupt_blob(what, "it cannot be decompressed");
}

}  // namespace spscope
