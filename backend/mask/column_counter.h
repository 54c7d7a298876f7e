// How many rows of a bit matrix have each bit set, without transposing: 64 columns to a word, counters of all columns
// are kept as bit planes, and rows are added to them eight at a time by carry-save adders (Harley and Seal), some 6
// operations a word and row.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace spscope {

class ColumnCounter {
 public:
  explicit ColumnCounter(std::size_t num_words)
      : num_words_(num_words), planes_(num_words * kMaxPlanes), carry_(num_words), zeros_(num_words) {}

  // A row of num_words words, which must stay until counts are asked for. At most 2^31 rows.
  void add(const std::uint64_t* row);
  // Adds value x the number of rows with the bit set, by column.
  void add_counts(std::int64_t value, std::span<std::int64_t> columns);

 private:
  static constexpr std::size_t kMaxPlanes = 32;

  int num_planes() const;  // digits of a count of all rows so far
  void flush();

  std::size_t num_words_, num_pending_ = 0, num_flushes_ = 0;
  std::array<const std::uint64_t*, 8> pending_ = {};
  std::vector<std::uint64_t> planes_, carry_, zeros_;
};

}  // namespace spscope
