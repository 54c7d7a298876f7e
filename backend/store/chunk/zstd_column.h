// Columns of a chunk one after another, each compressed with zstd where that makes it smaller: u32 stored size of each,
// then what is stored. A column is compressed when less is stored than its size, which the reader knows from elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace spscope {

// REQUIRES: `sizes` sum up to all of `columns`.
void append_compressed_columns(std::span<const std::uint8_t> columns, std::span<const std::size_t> sizes,
                               std::vector<std::uint8_t>& out);

// The columns again, with `padding` bytes of zero behind them; `data` has as many. Throws Error (kStoreCorrupt).
// REQUIRES: the caller has bounded `sizes`.
std::vector<std::uint8_t> read_compressed_columns(std::span<const std::uint8_t> data,
                                                  std::span<const std::size_t> sizes, std::size_t padding);

}  // namespace spscope
