// Bit layout, cuts and single bits of a BlockMask. Counting lives in block_count.cpp.
#include "backend/mask/block_mask.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "backend/base/check.h"

namespace spscope {

BlockMask::BlockMask(int heads, std::vector<std::int32_t> block_starts) : heads_(heads) {
  SPSCOPE_CHECK(heads >= 1 && block_starts.size() >= 2 && block_starts.front() == 0);
  coarse_blocks_ = static_cast<std::int32_t>(block_starts.size()) - 1;
  for (std::int32_t b = 0; b < coarse_blocks_; ++b) {
    const std::int32_t size = block_starts[b + 1] - block_starts[b];
    SPSCOPE_CHECK(size >= 1 && size <= kMaxBlockTokens);
  }
  words_ = (coarse_blocks_ + 63) / 64;
  coarse_.resize(coarse_blocks_);
  for (std::int32_t b = 0; b < coarse_blocks_; ++b) coarse_[b] = b;
  slice_starts_ = block_starts;
  coarse_starts_ = std::move(block_starts);
  const std::size_t num_words = static_cast<std::size_t>(heads_) * coarse_blocks_ * words_;
  bits_ = std::make_shared<std::vector<std::uint64_t>>(num_words, 0);
}

std::vector<std::int32_t> BlockMask::uniform_starts(std::int32_t tokens, std::int32_t block) {
  SPSCOPE_CHECK(tokens >= 1 && block >= 1);
  std::vector<std::int32_t> starts;
  starts.reserve(tokens / block + 2);
  for (std::int64_t start = 0; start < tokens; start += block) starts.push_back(static_cast<std::int32_t>(start));
  starts.push_back(tokens);
  return starts;
}

std::span<const std::uint64_t> BlockMask::row(int head, std::int32_t q_coarse) const {
  const std::size_t first = (static_cast<std::size_t>(head) * coarse_blocks_ + q_coarse) * words_;
  return {bits_->data() + first, static_cast<std::size_t>(words_)};
}

std::span<std::uint64_t> BlockMask::mutable_row(int head, std::int32_t q_coarse) {
  SPSCOPE_CHECK(!refined() && bits_.use_count() == 1);
  SPSCOPE_CHECK(head >= 0 && head < heads_ && q_coarse >= 0 && q_coarse < coarse_blocks_);
  const std::size_t first = (static_cast<std::size_t>(head) * coarse_blocks_ + q_coarse) * words_;
  return {bits_->data() + first, static_cast<std::size_t>(words_)};
}

bool BlockMask::active(int head, std::int32_t q_coarse, std::int32_t k_coarse) const {
  return (row(head, q_coarse)[k_coarse / 64] >> (k_coarse % 64)) & 1;
}

void BlockMask::set(int head, std::int32_t q_coarse, std::int32_t k_coarse, bool on) {
  SPSCOPE_CHECK(k_coarse >= 0 && k_coarse < coarse_blocks_);
  std::uint64_t& word = mutable_row(head, q_coarse)[k_coarse / 64];
  const std::uint64_t bit = std::uint64_t{1} << (k_coarse % 64);
  word = on ? word | bit : word & ~bit;
}

BlockMask BlockMask::refine(int slices) const {
  SPSCOPE_CHECK(slices >= 1);
  BlockMask fine = *this;
  fine.slice_starts_.assign(1, 0);
  fine.coarse_.clear();
  for (std::int32_t b = 0; b < blocks(); ++b) {
    const Span whole = block(b);
    const std::int32_t parts = std::min<std::int32_t>(slices, whole.size());
    for (std::int64_t part = 1; part <= parts; ++part) {
      fine.slice_starts_.push_back(whole.begin + static_cast<std::int32_t>(whole.size() * part / parts));
      fine.coarse_.push_back(coarse_[b]);
    }
  }
  return fine;
}

BlockMask BlockMask::cut_at(std::int32_t token) const {
  SPSCOPE_CHECK(!refined() && 0 <= token && token <= tokens());
  std::vector<std::int32_t> starts = coarse_starts_;
  const auto place = std::ranges::lower_bound(starts, token);
  if (*place == token) return *this;
  const auto cut = static_cast<std::int32_t>(place - starts.begin()) - 1;  // the block that becomes cut and cut + 1
  starts.insert(place, token);
  BlockMask result(heads_, std::move(starts));
  for (int head = 0; head < heads_; ++head)
    for (std::int32_t q = 0; q < result.blocks(); ++q)
      for (std::int32_t k = 0; k < result.blocks(); ++k)
        if (active(head, q > cut ? q - 1 : q, k > cut ? k - 1 : k)) result.set(head, q, k);
  return result;
}

std::uint64_t BlockMask::hash() const {
  std::uint64_t state = 0x243f6a8885a308d3u;
  auto add = [&state](std::uint64_t x) {
    state = (state ^ x) * 0x9e3779b97f4a7c15u;
    state ^= state >> 32;
  };
  auto add_starts = [&add](std::span<const std::int32_t> starts) {
    add(starts.size());
    for (std::int32_t start : starts) add(static_cast<std::uint64_t>(start));
  };
  add(static_cast<std::uint64_t>(heads_));
  add_starts(coarse_starts_);
  add_starts(slice_starts_);
  if (bits_) {
    for (std::uint64_t word : *bits_) add(word);
  }
  return state;
}

namespace {

// The (tokens, slices) pair that most shares have.
std::pair<std::int32_t, std::int32_t> most_common(std::span<const BlockCoverage::Share> shares) {
  std::map<std::pair<std::int32_t, std::int32_t>, int> votes;
  std::pair<std::int32_t, std::int32_t> best;
  int best_votes = 0;
  for (const BlockCoverage::Share& share : shares) {
    const std::pair<std::int32_t, std::int32_t> key{share.tokens, share.slices};
    if (const int count = ++votes[key]; count > best_votes) {
      best = key;
      best_votes = count;
    }
  }
  return best;
}

// Fills what follows from the shares.
void summarise(BlockCoverage& cover, std::int32_t words) {
  cover.touched.assign(words, 0);
  for (const BlockCoverage::Share& share : cover.shares) {
    cover.blocks.push_back(share.block);
    cover.touched[share.block / 64] |= std::uint64_t{1} << (share.block % 64);
    cover.any_cut |= share.cut;
  }
  if (cover.shares.empty()) return;
  for (std::int32_t w = 0; w < words; ++w) {
    if (cover.touched[w] != 0) cover.words.push_back(w);
  }
  cover.first_word = cover.words.front();
  cover.last_word = cover.words.back() + 1;
  std::tie(cover.common_tokens, cover.common_slices) = most_common(cover.shares);
  for (std::size_t i = 0; i < cover.shares.size(); ++i) {
    const BlockCoverage::Share& share = cover.shares[i];
    if (share.tokens != cover.common_tokens || share.slices != cover.common_slices) {
      cover.odd.push_back(static_cast<std::int32_t>(i));
    }
  }
}

}  // namespace

BlockCoverage BlockMask::cover(std::span<const Span> tokens) const {
  BlockCoverage cover;
  std::int32_t slice = 0, inside = 0;  // the slice being filled and the tokens found in it
  auto close_slice = [&] {
    if (inside == 0) return;
    if (cover.shares.empty() || cover.shares.back().block != coarse_[slice]) {
      cover.shares.push_back({.block = coarse_[slice], .tokens = 0, .slices = 0, .cut = false});
    }
    BlockCoverage::Share& share = cover.shares.back();
    share.tokens += inside;
    share.slices += 1;
    share.cut |= inside < block(slice).size();
    inside = 0;
  };
  std::int32_t end_before = 0;
  for (const Span& span : tokens) {
    SPSCOPE_CHECK(end_before <= span.begin && span.begin <= span.end && span.end <= this->tokens());
    end_before = span.end;
    std::int32_t at = span.begin;
    while (at < span.end) {
      if (at >= slice_starts_[slice + 1]) {
        close_slice();
        const auto after = std::upper_bound(slice_starts_.begin() + slice, slice_starts_.end(), at);
        slice = static_cast<std::int32_t>(after - slice_starts_.begin()) - 1;
      }
      const std::int32_t end = std::min(span.end, slice_starts_[slice + 1]);
      inside += end - at;
      at = end;
    }
  }
  close_slice();
  summarise(cover, words_);
  return cover;
}

}  // namespace spscope
