#include "backend/execute/reference/fault_rows.h"

#include <algorithm>

namespace spscope {
namespace {

// A row fits a fault with this many times its limit: sums of a fault differ in size from those of the right row.
constexpr double kRoom = 4;
// Rows that are looked at, and multiply-adds that they may take, some seconds.
constexpr std::size_t kMostRows = 48, kFewestRows = 8;
constexpr double kWork = 3e9, kPasses = 36;

}  // namespace

FaultRows::FaultRows(const RightAttention& attention, const ComparedRows& compared)
    : attention_(attention), compared_(compared) {
  for (std::size_t row = 0; row < compared.errors.size(); ++row) {
    if (!compared.off(row)) continue;
    off_.push_back(row);
    largest_ = std::max(largest_, compared.errors[row]);
  }
  const double of_row = kPasses * attention_.tokens * attention_.head_dim;
  const std::size_t most =
      std::min(off_.size(), std::clamp(static_cast<std::size_t>(kWork / of_row), kFewestRows, kMostRows));
  for (std::size_t i = 0; i < most; ++i) chosen_.push_back(off_[i * off_.size() / most]);
}

std::vector<std::int32_t> FaultRows::tokens_of(std::span<const std::size_t> rows) const {
  std::vector<std::int32_t> tokens;
  for (const std::size_t row : rows) tokens.push_back(place(row).token);
  return tokens;
}

std::span<const double> FaultRows::row_of(const std::vector<double>& all, std::size_t row) const {
  const auto dim = static_cast<std::size_t>(attention_.head_dim);
  return std::span(all).subspan(row * dim, dim);
}

bool FaultRows::is_zero(std::span<const double> row) {
  return std::ranges::all_of(row, [](double x) { return x == 0; });
}

bool FaultRows::fits(std::size_t row, std::span<const double> expected) const {
  return row_error(found(row), expected, compared_.least_square) <= kRoom * compared_.limits[row];
}

void FaultRows::judge(const std::string& id, const std::string& text, std::size_t row,
                      std::span<const double> expected) {
  KnownFault& fault = faults_.try_emplace(id + text, KnownFault{id, text, 0, true}).first->second;
  fault.left = std::max(fault.left, row_error(found(row), expected, compared_.least_square));
  fault.fits = fault.fits && fits(row, expected);
}

std::vector<KnownFault> FaultRows::best() const {
  constexpr double kNearest = 0.1;  // of the error
  std::vector<KnownFault> all;
  for (const auto& [key, fault] : faults_) all.push_back(fault);
  std::ranges::stable_sort(all, {}, [](const KnownFault& f) { return std::pair(!f.fits, f.left); });
  const auto fitting = std::ranges::count_if(all, &KnownFault::fits);
  if (fitting > 0)
    all.resize(static_cast<std::size_t>(fitting));
  else
    all.resize(all.empty() || all.front().left >= kNearest * largest_ ? 0 : 1);
  return all;
}

}  // namespace spscope
