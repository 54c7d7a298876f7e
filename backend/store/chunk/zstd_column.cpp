#include "backend/store/chunk/zstd_column.h"

#include <zstd.h>

#include <cstring>
#include <memory>
#include <numeric>

#include "backend/base/check.h"
#include "backend/store/chunk/chunk_columns.h"

namespace spscope {

namespace {

constexpr int kZstdLevel = 3;

}  // namespace

void append_compressed_columns(std::span<const std::uint8_t> columns, std::span<const std::size_t> sizes,
                               std::vector<std::uint8_t>& out) {
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(), &ZSTD_freeCCtx);
  SPSCOPE_CHECK(context != nullptr);
  std::size_t size_at = out.size(), to = size_at + sizes.size() * sizeof(std::uint32_t);
  out.resize(to + columns.size());
  const std::uint8_t* from = columns.data();
  for (const std::size_t bytes : sizes) {
    // No room for as much as there was: then the call fails, and the column stays as it is.
    std::size_t stored =
        bytes <= 1 ? bytes : ZSTD_compressCCtx(context.get(), out.data() + to, bytes - 1, from, bytes, kZstdLevel);
    if (bytes <= 1 || ZSTD_isError(stored) != 0) {
      std::memcpy(out.data() + to, from, bytes);
      stored = bytes;
    }
    const auto size = static_cast<std::uint32_t>(stored);
    std::memcpy(out.data() + size_at, &size, sizeof size);
    size_at += sizeof size;
    from += bytes;
    to += stored;
  }
  out.resize(to);
}

std::vector<std::uint8_t> read_compressed_columns(std::span<const std::uint8_t> data,
                                                  std::span<const std::size_t> sizes, std::size_t padding) {
  using chunk_columns::corrupt;
  const std::size_t head = sizes.size() * sizeof(std::uint32_t);
  if (data.size() < head + padding) corrupt("it ends early");
  std::vector<std::uint32_t> stored(sizes.size());
  std::memcpy(stored.data(), data.data(), head);
  std::size_t wanted = head + padding;
  for (std::size_t c = 0; c < sizes.size(); ++c) {
    if (stored[c] > sizes[c]) corrupt("a column is larger than its values");
    wanted += stored[c];
  }
  if (data.size() != wanted) corrupt("it has another size");
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(), &ZSTD_freeDCtx);
  SPSCOPE_CHECK(context != nullptr);
  std::vector<std::uint8_t> columns(std::accumulate(sizes.begin(), sizes.end(), padding));
  std::uint8_t* to = columns.data();
  const std::uint8_t* from = data.data() + head;
  for (std::size_t c = 0; c < sizes.size(); ++c) {
    if (stored[c] == sizes[c])
      std::memcpy(to, from, sizes[c]);
    else if (ZSTD_decompressDCtx(context.get(), to, sizes[c], from, stored[c]) != sizes[c])
      corrupt("a column cannot be decompressed");
    to += sizes[c];
    from += stored[c];
  }
  return columns;
}

}  // namespace spscope
