// BlockMask: which blocks of keys each block of queries attends to, per head; one bit a block.
//
// Shape [heads, blocks, blocks], queries by row. Queries and keys are cut at the same tokens: `block_starts` is any
// ascending list from 0 to the number of tokens, with blocks of 1 to 384 tokens; the last block may be ragged, and
// nothing is padded. A mask belongs to one attended axis and is shared by all sequences of the other axis and by the
// batch. Copies and refinements share the bits, which are immutable from then on.
//
// refine(f) cuts every block into f slices without copying a bit: a slice is active when its coarse block is. Counts
// are weighted by area, in tokens, so they do not depend on slices.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/base/span_of_axis.h"

namespace spscope {

inline constexpr int kMaxBlockTokens = 384;

// The overlap of one token set with the coarse blocks of a mask, in the form that count() needs; made once per set.
struct BlockCoverage {
  struct Share {
    std::int32_t block;   // coarse block
    std::int32_t tokens;  // of the set in this block
    std::int32_t slices;  // slices of the block that the set touches
    bool cut;             // the set holds some but not all tokens of a slice it touches
  };
  std::vector<Share> shares;           // ascending by block
  std::vector<std::int32_t> blocks;    // the blocks of `shares`
  std::vector<std::uint64_t> touched;  // one bit a coarse block
  // Words of `touched` that are not zero: all of them, and the range [first, last) that holds them.
  std::vector<std::int32_t> words;
  std::int32_t first_word = 0, last_word = 0;
  // The (tokens, slices) that most shares have and the indices of the shares that differ, for the popcount path.
  std::int32_t common_tokens = 0, common_slices = 0;
  std::vector<std::int32_t> odd;
  bool any_cut = false;
};

struct TileCount {
  std::int64_t tiles = 0;  // active (head, q slice, k slice) triples that are touched
  std::int64_t area = 0;   // active (head, query, key) triples of tokens
  bool whole = true;       // no active tile is cut
};

// What the rows q of some heads have under each column, so that counts of the same rows and many sets of keys cost no
// more than the blocks of the keys.
struct ColumnSums {
  std::vector<std::int64_t> slices,
      queries;       // by coarse block of keys: of all active (head, q), slices and tokens of q
  bool cut = false;  // q holds a part of a slice
};

class BlockMask {
 public:
  BlockMask() = default;
  // All blocks inactive. REQUIRES: heads >= 1, block_starts ascending from 0, blocks of 1 to kMaxBlockTokens tokens.
  BlockMask(int heads, std::vector<std::int32_t> block_starts);
  // Blocks of `block` tokens, the last one ragged: 0, block, 2 block, ..., tokens.
  static std::vector<std::int32_t> uniform_starts(std::int32_t tokens, std::int32_t block);

  int heads() const { return heads_; }
  std::int32_t tokens() const { return slice_starts_.empty() ? 0 : slice_starts_.back(); }
  // Slices and their cuts: equal to the coarse blocks unless the mask was refined.
  std::int32_t blocks() const { return static_cast<std::int32_t>(coarse_.size()); }
  std::span<const std::int32_t> block_starts() const { return slice_starts_; }
  Span block(std::int32_t b) const { return {slice_starts_[b], slice_starts_[b + 1]}; }
  std::int32_t coarse_block(std::int32_t b) const { return coarse_[b]; }
  // Coarse blocks: the resolution of the bits.
  std::int32_t coarse_blocks() const { return coarse_blocks_; }
  std::span<const std::int32_t> coarse_starts() const { return coarse_starts_; }
  bool refined() const { return blocks() != coarse_blocks_; }

  // Bits of one row of coarse blocks, least significant bit first; unused bits of the last word are 0.
  std::span<const std::uint64_t> row(int head, std::int32_t q_coarse) const;
  std::int32_t words_per_row() const { return words_; }
  bool active(int head, std::int32_t q_coarse, std::int32_t k_coarse) const;
  // REQUIRES: not refined and the only owner of its bits.
  void set(int head, std::int32_t q_coarse, std::int32_t k_coarse, bool on = true);
  // The same for a whole row; the caller leaves the unused bits of the last word 0. REQUIRES: as set().
  std::span<std::uint64_t> mutable_row(int head, std::int32_t q_coarse);

  // Active share of all (head, query, key) triples of tokens, 0 to 1.
  double density() const;
  // Active coarse tiles of one head, by area in units of tokens x tokens.
  std::int64_t head_area(int head) const;

  // Every block cut into `slices` slices as even as possible (a block of fewer tokens gets one slice a token).
  BlockMask refine(int slices) const;
  // The same pairs of tokens, with the block that holds tokens on both sides of `token` cut there.
  // REQUIRES: not refined, 0 <= token <= tokens().
  BlockMask cut_at(std::int32_t token) const;

  // The overlap of a set of tokens with the blocks. REQUIRES: sorted disjoint spans inside [0, tokens()).
  BlockCoverage cover(std::span<const Span> tokens) const;
  // Counts of rows x keys for a set of heads, by popcount. Coverages must come from this mask.
  TileCount count(std::span<const Span> heads, const BlockCoverage& q, const BlockCoverage& k) const;
  ColumnSums column_sums(std::span<const Span> heads, const BlockCoverage& q) const;
  // The same as count(heads, q, k). REQUIRES: `sums` is column_sums(heads, q), and not cut.
  TileCount count(const ColumnSums& sums, const BlockCoverage& k) const;
  // Like count().tiles, in coarse tiles and fractional by area, for reports.
  double coarse_tiles(std::span<const Span> heads, const BlockCoverage& q, const BlockCoverage& k) const;

  // A content hash of shape, cuts and bits, stable across machines (used as the identity of a mask in the store).
  std::uint64_t hash() const;

 private:
  int heads_ = 0;
  std::int32_t coarse_blocks_ = 0, words_ = 0;
  std::vector<std::int32_t> coarse_starts_, slice_starts_, coarse_;
  std::shared_ptr<std::vector<std::uint64_t>> bits_;
};

}  // namespace spscope
