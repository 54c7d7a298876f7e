#include "backend/plan/mask_counter.h"

#include <iterator>
#include <utility>

namespace spscope {

MaskCounter::MaskCounter(std::shared_ptr<SetTable> sets, BlockMask mask)
    : sets_(std::move(sets)), mask_(std::move(mask)) {}

const BlockCoverage& MaskCounter::coverage(SetId tokens) {
  const auto key = static_cast<std::uint64_t>(tokens);
  if (const std::int32_t* known = coverage_ids_.find(key)) return *coverages_[static_cast<std::size_t>(*known)];
  coverage_ids_.insert(key, static_cast<std::int32_t>(coverages_.size()));
  return *coverages_.emplace_back(std::make_unique<BlockCoverage>(mask_.cover(sets_->spans(tokens))));
}

TileCount MaskCounter::count(SetId heads, SetId q, SetId k) {
  const std::uint64_t hash = hash_mix(hash_mix(static_cast<std::uint64_t>(heads), static_cast<std::uint64_t>(q)),
                                      static_cast<std::uint64_t>(k));
  const std::int32_t* head = by_hash_.find(hash);
  for (std::int32_t i = head ? *head : -1; i >= 0; i = counted_[static_cast<std::size_t>(i)].next) {
    const Counted& c = counted_[static_cast<std::size_t>(i)];
    if (c.heads == heads && c.q == q && c.k == k) return c.count;
  }
  const TileCount result = count_anew(heads, q, k);
  counted_.push_back({heads, q, k, result, head ? *head : -1});
  by_hash_.insert(hash, 0) = static_cast<std::int32_t>(counted_.size()) - 1;
  return result;
}

// Rings of many ranks ask for the same rows once a step. Their column sums are made once as many words were read for
// them as that reads.
TileCount MaskCounter::count_anew(SetId heads, SetId q, SetId k) {
  constexpr std::int64_t kMostBytes = std::int64_t{1} << 26;
  constexpr std::int64_t kWordsAColumn = 8;  // what it takes to read out the counters of a column
  const BlockCoverage& rows = coverage(q);
  const BlockCoverage& keys = coverage(k);
  const bool mostly_alike = 4 * rows.odd.size() <= rows.blocks.size();  // each odd row is a pass over the columns
  if (rows.any_cut || !mostly_alike) return mask_.count(sets_->spans(heads), rows, keys);
  Rows& of = rows_of(heads, q);
  if (!of.sums) {
    const std::int64_t num_rows = sets_->size(heads) * std::ssize(rows.blocks);
    const std::int64_t words_of_sums = num_rows * mask_.words_per_row() + kWordsAColumn * mask_.coarse_blocks();
    if (of.words_read < words_of_sums || sums_bytes_ > kMostBytes) {
      of.words_read += num_rows * std::ssize(keys.words);
      return mask_.count(sets_->spans(heads), rows, keys);
    }
    of.sums = std::make_unique<ColumnSums>(mask_.column_sums(sets_->spans(heads), rows));
    sums_bytes_ += 2 * static_cast<std::int64_t>(sizeof(std::int64_t)) * mask_.coarse_blocks();
  }
  return mask_.count(*of.sums, keys);
}

MaskCounter::Rows& MaskCounter::rows_of(SetId heads, SetId q) {
  const std::uint64_t hash = hash_mix(static_cast<std::uint64_t>(heads), static_cast<std::uint64_t>(q));
  const std::int32_t* head = rows_by_hash_.find(hash);
  for (std::int32_t i = head ? *head : -1; i >= 0; i = rows_[static_cast<std::size_t>(i)].next) {
    Rows& rows = rows_[static_cast<std::size_t>(i)];
    if (rows.heads == heads && rows.q == q) return rows;
  }
  rows_.push_back({heads, q, 0, nullptr, head ? *head : -1});
  rows_by_hash_.insert(hash, 0) = static_cast<std::int32_t>(rows_.size()) - 1;
  return rows_.back();
}

double MaskCounter::coarse_tiles(SetId heads, SetId q, SetId k) {
  const BlockCoverage& rows = coverage(q);
  return mask_.coarse_tiles(sets_->spans(heads), rows, coverage(k));
}

const AreaSums& MaskCounter::area_sums() {
  if (!area_sums_) area_sums_ = spscope::area_sums(mask_);
  return *area_sums_;
}

std::vector<std::int32_t> MaskCounter::needed_blocks(SetId heads, SetId q) {
  std::vector<std::uint64_t> needed(static_cast<std::size_t>(mask_.words_per_row()), 0);
  for (const Span& span : sets_->spans(heads))
    for (std::int32_t head = span.begin; head < span.end; ++head)
      for (const std::int32_t row : coverage(q).blocks) {
        const std::span<const std::uint64_t> words = mask_.row(head, row);
        for (std::size_t w = 0; w < needed.size(); ++w) needed[w] |= words[w];
      }
  std::vector<std::int32_t> blocks;
  for (std::int32_t block = 0; block < mask_.blocks(); ++block) {
    const auto coarse = static_cast<std::size_t>(mask_.coarse_block(block));
    if ((needed[coarse / 64] >> (coarse % 64) & 1) != 0) blocks.push_back(block);
  }
  return blocks;
}

std::span<const SetId> MaskCounter::blocks() {
  if (blocks_.empty())
    for (std::int32_t b = 0; b < mask_.blocks(); ++b)
      blocks_.push_back(sets_->span(mask_.block(b).begin, mask_.block(b).end));
  return blocks_;
}

MaskCounter& MaskCounter::refined(int slices) {
  if (slices == 1) return *this;
  std::unique_ptr<MaskCounter>& made = refined_[slices];
  if (!made) made = std::make_unique<MaskCounter>(sets_, mask_.refine(slices));
  return *made;
}

}  // namespace spscope
