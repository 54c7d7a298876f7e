#include "backend/mask/column_counter.h"

#include <bit>

#include "backend/mask/count_bits.h"

namespace spscope {

void ColumnCounter::add(const std::uint64_t* row) {
  pending_[num_pending_++] = row;
  if (num_pending_ == pending_.size()) flush();
}

void ColumnCounter::add_counts(std::int64_t value, std::span<std::int64_t> columns) {
  while (num_pending_ > 0) add(zeros_.data());
  for (int p = 0; p < num_planes(); ++p) {
    const std::uint64_t* plane = planes_.data() + static_cast<std::size_t>(p) * num_words_;
    for (std::size_t c = 0; c < columns.size(); ++c)
      columns[c] += value * (static_cast<std::int64_t>((plane[c / 64] >> (c % 64)) & 1) << p);
  }
}

int ColumnCounter::num_planes() const { return std::bit_width(num_flushes_ * pending_.size()); }

void ColumnCounter::flush() {
  ++num_flushes_;
  add_eight_rows(pending_, planes_, num_planes(), carry_);
  num_pending_ = 0;
}

}  // namespace spscope
