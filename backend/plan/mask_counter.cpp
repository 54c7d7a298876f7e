#include "backend/plan/mask_counter.h"

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
  const BlockCoverage& rows = coverage(q);
  const TileCount result = mask_.count(sets_->spans(heads), rows, coverage(k));
  counted_.push_back({heads, q, k, result, head ? *head : -1});
  by_hash_.insert(hash, 0) = static_cast<std::int32_t>(counted_.size()) - 1;
  return result;
}

double MaskCounter::coarse_tiles(SetId heads, SetId q, SetId k) {
  const BlockCoverage& rows = coverage(q);
  return mask_.coarse_tiles(sets_->spans(heads), rows, coverage(k));
}

SetId MaskCounter::needed_keys(SetId heads, SetId q) {
  return sets_->of(mask_.needed_keys(sets_->spans(heads), coverage(q)));
}

const AreaSums& MaskCounter::area_sums() {
  if (!area_sums_) area_sums_ = spscope::area_sums(mask_);
  return *area_sums_;
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
