// Counting active tiles under a product of head, query and key sets.
//
// With weight w(q) for rows and v(k) for columns, a count is S = sum of w(q) v(k) over active (head, q, k). Nearly all
// rows share one weight c and nearly all columns one weight d, so with w = c + dw and v = d + dv
//
//   S = c d N + d sum_q dw(q) row(q) + c sum_k dv(k) column(k) + sum_{q,k} dw(q) dv(k) bit(q, k)
//
// where N is one popcount over all rows, and the other sums run over the few rows and columns that differ (ragged last
// block, a block that a token cut goes through). When many columns differ (variable block sizes) the active bits are
// listed instead, about 1 ns each.
#include <array>
#include <bit>

#include "backend/base/check.h"
#include "backend/mask/block_mask.h"
#include "backend/mask/column_counter.h"
#include "backend/mask/count_bits.h"

namespace spscope {
namespace {

// Above this many differing columns listing bits beats one pass per column.
constexpr std::size_t kMaxOddColumns = 6;

// Weights of the shares of one coverage, several kinds at once.
template <typename T, std::size_t kinds>
struct Weights {
  struct Odd {
    std::int32_t block;
    std::array<T, kinds> extra;  // weight minus the common one
  };
  std::array<T, kinds> common = {};
  std::vector<Odd> odd;
};

template <typename T, std::size_t kinds>
class WeightedCount {
 public:
  using Sums = std::array<T, kinds>;

  WeightedCount(const BlockMask& mask, const BlockCoverage& q, const BlockCoverage& k, const Weights<T, kinds>& wq,
                const Weights<T, kinds>& wk)
      : mask_(mask), q_(q), k_(k), wq_(wq), wk_(wk) {}

  Sums over(std::span<const Span> heads) {
    if (q_.shares.empty() || k_.shares.empty()) return sums_;
    const bool list = wk_.odd.size() > kMaxOddColumns;
    if (list) spread_columns();
    for (const Span& span : heads) {
      SPSCOPE_CHECK(span.begin >= 0 && span.end <= mask_.heads());
      for (int head = span.begin; head < span.end; ++head) list ? list_head(head) : popcount_head(head);
    }
    return sums_;
  }

 private:
  std::int64_t bits_of(int head, std::span<const std::int32_t> rows) const {
    return count_bits(mask_.row(head, 0).data(), mask_.words_per_row(), rows, k_.touched, k_.words);
  }

  void popcount_head(int head) {
    const T all = static_cast<T>(bits_of(head, q_.blocks));
    for (std::size_t i = 0; i < kinds; ++i) sums_[i] += wq_.common[i] * wk_.common[i] * all;
    for (const auto& row : wq_.odd) {
      const T bits = static_cast<T>(bits_of(head, {&row.block, 1}));
      for (std::size_t i = 0; i < kinds; ++i) sums_[i] += row.extra[i] * wk_.common[i] * bits;
    }
    for (const auto& column : wk_.odd) {
      std::int64_t bits = 0;
      for (std::int32_t row : q_.blocks) bits += mask_.active(head, row, column.block);
      for (std::size_t i = 0; i < kinds; ++i) sums_[i] += wq_.common[i] * column.extra[i] * static_cast<T>(bits);
      for (const auto& row : wq_.odd) {
        if (!mask_.active(head, row.block, column.block)) continue;
        for (std::size_t i = 0; i < kinds; ++i) sums_[i] += row.extra[i] * column.extra[i];
      }
    }
  }

  // Column weights by block, counted from the first word.
  void spread_columns() {
    columns_.assign(static_cast<std::size_t>(k_.last_word - k_.first_word) * 64, wk_.common);
    for (const auto& column : wk_.odd) {
      for (std::size_t i = 0; i < kinds; ++i) columns_[column.block - k_.first_word * 64][i] += column.extra[i];
    }
  }

  void list_head(int head) {
    std::size_t next_odd = 0;
    for (std::int32_t q_block : q_.blocks) {
      const Sums row = list_row(mask_.row(head, q_block));
      const bool odd = next_odd < wq_.odd.size() && wq_.odd[next_odd].block == q_block;
      for (std::size_t i = 0; i < kinds; ++i) {
        sums_[i] += row[i] * (wq_.common[i] + (odd ? wq_.odd[next_odd].extra[i] : T{0}));
      }
      next_odd += odd;
    }
  }

  Sums list_row(std::span<const std::uint64_t> row) const {
    Sums sum = {};
    for (std::int32_t w = k_.first_word; w < k_.last_word; ++w) {
      const auto* weights = columns_.data() + static_cast<std::ptrdiff_t>(w - k_.first_word) * 64;
      for (std::uint64_t word = row[w] & k_.touched[w]; word != 0; word &= word - 1) {
        const auto& weight = weights[std::countr_zero(word)];
        for (std::size_t i = 0; i < kinds; ++i) sum[i] += weight[i];
      }
    }
    return sum;
  }

  const BlockMask& mask_;
  const BlockCoverage &q_, &k_;
  const Weights<T, kinds>&wq_, &wk_;
  std::vector<Sums> columns_;
  Sums sums_ = {};
};

// Kind 0 counts slices, kind 1 tokens.
Weights<std::int64_t, 2> slices_and_tokens(const BlockCoverage& cover) {
  Weights<std::int64_t, 2> weights{.common = {cover.common_slices, cover.common_tokens}, .odd = {}};
  for (std::int32_t index : cover.odd) {
    const BlockCoverage::Share& share = cover.shares[index];
    weights.odd.push_back({share.block, {share.slices - cover.common_slices, share.tokens - cover.common_tokens}});
  }
  return weights;
}

// The share of each coarse block that the set holds.
Weights<double, 1> fractions(const BlockMask& mask, const BlockCoverage& cover) {
  const std::span<const std::int32_t> starts = mask.coarse_starts();
  auto fraction = [&starts](const BlockCoverage::Share& share) {
    return static_cast<double>(share.tokens) / (starts[share.block + 1] - starts[share.block]);
  };
  Weights<double, 1> weights;
  if (cover.shares.empty()) return weights;
  weights.common[0] = fraction(cover.shares[cover.shares.size() / 2]);
  for (const BlockCoverage::Share& share : cover.shares) {
    const double extra = fraction(share) - weights.common[0];
    if (extra != 0) weights.odd.push_back({share.block, {extra}});
  }
  return weights;
}

std::vector<std::int32_t> cut_blocks(const BlockCoverage& cover) {
  std::vector<std::int32_t> blocks;
  for (const BlockCoverage::Share& share : cover.shares) {
    if (share.cut) blocks.push_back(share.block);
  }
  return blocks;
}

// Whether any active tile lies in one of these rows and under these columns.
bool any_active(const BlockMask& mask, std::span<const Span> heads, std::span<const std::int32_t> rows,
                std::span<const std::uint64_t> columns) {
  for (const Span& span : heads) {
    for (int head = span.begin; head < span.end; ++head) {
      for (std::int32_t q_block : rows) {
        const std::span<const std::uint64_t> row = mask.row(head, q_block);
        for (std::size_t w = 0; w < row.size(); ++w) {
          if (row[w] & columns[w]) return true;
        }
      }
    }
  }
  return false;
}

// Whether an active tile of rows x keys is cut by either set.
bool cuts_a_tile(const BlockMask& mask, std::span<const Span> heads, const BlockCoverage& q, const BlockCoverage& k) {
  if (q.any_cut && any_active(mask, heads, cut_blocks(q), k.touched)) return true;
  if (!k.any_cut) return false;
  std::vector<std::uint64_t> cut_columns(k.touched.size(), 0);
  for (std::int32_t block : cut_blocks(k)) cut_columns[block / 64] |= std::uint64_t{1} << (block % 64);
  return any_active(mask, heads, q.blocks, cut_columns);
}

}  // namespace

TileCount BlockMask::count(std::span<const Span> heads, const BlockCoverage& q, const BlockCoverage& k) const {
  const Weights<std::int64_t, 2> wq = slices_and_tokens(q), wk = slices_and_tokens(k);
  const auto [tiles, area] = WeightedCount<std::int64_t, 2>(*this, q, k, wq, wk).over(heads);
  return {.tiles = tiles, .area = area, .whole = !cuts_a_tile(*this, heads, q, k)};
}

ColumnSums BlockMask::column_sums(std::span<const Span> heads, const BlockCoverage& q) const {
  const auto columns = static_cast<std::size_t>(coarse_blocks_);
  ColumnSums sums{std::vector<std::int64_t>(columns, 0), std::vector<std::int64_t>(columns, 0), q.any_cut};
  ColumnCounter counter(static_cast<std::size_t>(words_));
  for (const Span& span : heads)
    for (int head = span.begin; head < span.end; ++head)
      for (const std::int32_t q_block : q.blocks) counter.add(row(head, q_block).data());
  counter.add_counts(q.common_slices, sums.slices);
  counter.add_counts(q.common_tokens, sums.queries);
  for (const std::int32_t index : q.odd) {
    const BlockCoverage::Share& share = q.shares[index];
    ColumnCounter odd(static_cast<std::size_t>(words_));
    for (const Span& span : heads)
      for (int head = span.begin; head < span.end; ++head) odd.add(row(head, share.block).data());
    odd.add_counts(share.slices - q.common_slices, sums.slices);
    odd.add_counts(share.tokens - q.common_tokens, sums.queries);
  }
  return sums;
}

TileCount BlockMask::count(const ColumnSums& sums, const BlockCoverage& k) const {
  SPSCOPE_CHECK(!sums.cut);
  TileCount count;
  for (const BlockCoverage::Share& share : k.shares) {
    const auto block = static_cast<std::size_t>(share.block);
    count.tiles += share.slices * sums.slices[block];
    count.area += share.tokens * sums.queries[block];
    count.whole = count.whole && !(share.cut && sums.queries[block] > 0);
  }
  return count;
}

double BlockMask::coarse_tiles(std::span<const Span> heads, const BlockCoverage& q, const BlockCoverage& k) const {
  const Weights<double, 1> wq = fractions(*this, q), wk = fractions(*this, k);
  return WeightedCount<double, 1>(*this, q, k, wq, wk).over(heads)[0];
}

std::int64_t BlockMask::head_area(int head) const {
  const Span all_tokens{0, tokens()}, one_head{head, head + 1};
  const BlockCoverage everything = cover({&all_tokens, 1});
  return count({&one_head, 1}, everything, everything).area;
}

double BlockMask::density() const {
  if (heads_ == 0) return 0;
  const Span all_tokens{0, tokens()}, all_heads{0, heads_};
  const BlockCoverage everything = cover({&all_tokens, 1});
  const double all = static_cast<double>(heads_) * tokens() * tokens();
  return static_cast<double>(count({&all_heads, 1}, everything, everything).area) / all;
}

}  // namespace spscope
