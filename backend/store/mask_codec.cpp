#include "backend/store/mask_codec.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "backend/base/bytes.h"
#include "backend/base/check.h"

namespace spscope {

namespace {

constexpr std::uint32_t kMaskMagic = 0x4b534d53;  // "SMSK"
constexpr std::int64_t kMaskVersion = 1;
constexpr std::int64_t kMaxHeads = 1 << 16, kMaxTokens = 1 << 30;
constexpr int kSide = DensityThumbnail::kSide;

// The tokens that a block shares with one cell of an axis.
struct Share {
  int cell;
  double tokens;
};

std::vector<std::vector<Share>> cells_of_blocks(const BlockMask& mask) {
  const std::span<const std::int32_t> starts = mask.coarse_starts();
  const double cell_tokens = static_cast<double>(mask.tokens()) / kSide;
  std::vector<std::vector<Share>> shares(static_cast<std::size_t>(mask.coarse_blocks()));
  for (std::size_t block = 0; block < shares.size(); ++block) {
    const double begin = starts[block], end = starts[block + 1];
    const int first = std::min(kSide - 1, static_cast<int>(begin / cell_tokens));
    for (int cell = first; cell < kSide && cell * cell_tokens < end; ++cell) {
      const double tokens = std::min(end, (cell + 1) * cell_tokens) - std::max(begin, cell * cell_tokens);
      if (tokens > 0) shares[block].push_back({cell, tokens});
    }
  }
  return shares;
}

DensityThumbnail thumbnail(const BlockMask& mask, int head, const std::vector<std::vector<Share>>& shares) {
  std::array<double, kSide * kSide> area{};
  for (std::int32_t q = 0; q < mask.coarse_blocks(); ++q) {
    std::array<double, kSide> keys{};  // active keys of this row by cell, in tokens
    const std::span<const std::uint64_t> row = mask.row(head, q);
    for (std::size_t w = 0; w < row.size(); ++w)
      for (std::uint64_t bits = row[w]; bits != 0; bits &= bits - 1)
        for (const Share& share : shares[w * 64 + static_cast<std::size_t>(std::countr_zero(bits))])
          keys[static_cast<std::size_t>(share.cell)] += share.tokens;
    for (const Share& rows : shares[static_cast<std::size_t>(q)])
      for (int cell = 0; cell < kSide; ++cell)
        area[static_cast<std::size_t>(rows.cell * kSide + cell)] += rows.tokens * keys[static_cast<std::size_t>(cell)];
  }
  const double cell_tokens = static_cast<double>(mask.tokens()) / kSide;
  DensityThumbnail picture;
  picture.cells.reserve(area.size());
  for (double active : area)
    picture.cells.push_back(
        static_cast<std::uint8_t>(std::clamp(std::lround(active / (cell_tokens * cell_tokens) * 255), 0L, 255L)));
  return picture;
}

}  // namespace

std::vector<std::uint8_t> encode_mask(const BlockMask& mask) {
  SPSCOPE_CHECK(!mask.refined());
  ByteWriter out;
  out.fixed32(kMaskMagic);
  out.number(kMaskVersion);
  out.number(mask.heads());
  out.unsigned_number(static_cast<std::uint64_t>(mask.coarse_blocks()));
  for (std::int32_t block = 0; block < mask.coarse_blocks(); ++block) out.number(mask.block(block).size());
  for (int head = 0; head < mask.heads(); ++head)
    for (std::int32_t q = 0; q < mask.coarse_blocks(); ++q) out.words(mask.row(head, q));
  return std::move(out).finish();
}

BlockMask decode_mask(std::span<const std::uint8_t> bytes) {
  ByteReader in(bytes, "a mask");
  if (in.fixed32() != kMaskMagic) in.fail("it is not a mask");
  in.number_in(kMaskVersion, kMaskVersion);
  const int heads = in.number32(1, kMaxHeads);
  std::vector<std::int32_t> starts = {0};
  const std::size_t blocks = in.count();
  starts.reserve(blocks + 1);
  for (std::size_t i = 0; i < blocks; ++i) {
    starts.push_back(starts.back() + in.number32(1, kMaxBlockTokens));
    if (starts.back() > kMaxTokens) in.fail("it has too many tokens");
  }
  const std::size_t words = (blocks + 63) / 64;
  // The mask is not made before its bits are known to be there: heads x blocks rows of words.
  if (blocks == 0 || static_cast<std::size_t>(heads) * blocks > bytes.size() / (words * 8)) in.fail("it ends early");
  const std::uint64_t unused = blocks % 64 == 0 ? 0 : ~std::uint64_t{0} << blocks % 64;
  BlockMask mask(heads, std::move(starts));
  for (int head = 0; head < heads; ++head)
    for (std::size_t q = 0; q < blocks; ++q) {
      const std::span<std::uint64_t> row = mask.mutable_row(head, static_cast<std::int32_t>(q));
      in.words(row);
      if ((row.back() & unused) != 0) in.fail("a row has bits beyond its blocks");
    }
  in.expect_end();
  return mask;
}

std::vector<DensityThumbnail> make_thumbnails(const BlockMask& mask) {
  const std::vector<std::vector<Share>> shares = cells_of_blocks(mask);
  std::vector<DensityThumbnail> pictures;
  for (int head = 0; head < mask.heads(); ++head) pictures.push_back(thumbnail(mask, head, shares));
  return pictures;
}

}  // namespace spscope
