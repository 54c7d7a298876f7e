// FaultRows: the rows of an output that are off, and the faults that are held against them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backend/execute/reference/key_parts.h"
#include "backend/execute/reference/known_faults.h"

namespace spscope {

class FaultRows {
 public:
  // Both must outlive it.
  FaultRows(const RightAttention& attention, const ComparedRows& compared);

  const RightAttention& attention() const { return attention_; }
  const ComparedRows& compared() const { return compared_; }
  const std::vector<std::size_t>& off() const { return off_; }
  // Those of them that are looked at, spread place by place.
  const std::vector<std::size_t>& chosen() const { return chosen_; }

  const RowPlace& place(std::size_t row) const {
    return compared_.places[row / static_cast<std::size_t>(attention_.heads)];
  }
  int head(std::size_t row) const { return static_cast<int>(row % static_cast<std::size_t>(attention_.heads)); }
  std::vector<std::int32_t> tokens_of(std::span<const std::size_t> rows) const;
  std::span<const double> found(std::size_t row) const { return row_of(compared_.found, row); }
  std::span<const double> right(std::size_t row) const { return row_of(compared_.right, row); }
  // Of [rows, head_dim].
  std::span<const double> row_of(const std::vector<double>& all, std::size_t row) const;
  static bool is_zero(std::span<const double> row);

  bool fits(std::size_t row, std::span<const double> expected) const;
  // A row of a fault. `id` and `text` are those of a fault that all chosen rows are held against.
  void judge(const std::string& id, const std::string& text, std::size_t row, std::span<const double> expected);
  // A fault that fits.
  void add(KnownFault fault) { faults_[fault.id] = std::move(fault); }
  // known_faults() of those that were judged.
  std::vector<KnownFault> best() const;

 private:
  const RightAttention& attention_;
  const ComparedRows& compared_;
  std::vector<std::size_t> off_, chosen_;
  double largest_ = 0;
  std::map<std::string, KnownFault> faults_;
};

}  // namespace spscope
