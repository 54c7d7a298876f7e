#include "backend/store/mask_codec.h"

#include <gtest/gtest.h>

#include "backend/base/bytes.h"
#include "tests/unit/store/sample_store.h"

namespace spscope {
namespace {

using testing::sample_mask;

TEST(MaskCodec, RoundTripsBitsAndBorders) {
  for (const BlockMask& mask :
       {sample_mask(), sample_mask(1, 64 * 3, 3), sample_mask(2, 65 * 5 + 1, 5), sample_mask(3, 1, 1)}) {
    const BlockMask read = decode_mask(encode_mask(mask));
    EXPECT_EQ(read.hash(), mask.hash());
    ASSERT_EQ(read.heads(), mask.heads());
    EXPECT_TRUE(std::equal(read.block_starts().begin(), read.block_starts().end(), mask.block_starts().begin(),
                           mask.block_starts().end()));
    for (int h = 0; h < mask.heads(); ++h)
      for (std::int32_t q = 0; q < mask.blocks(); ++q)
        for (std::int32_t k = 0; k < mask.blocks(); ++k) ASSERT_EQ(read.active(h, q, k), mask.active(h, q, k));
  }
}

TEST(MaskCodec, DamageIsRefused) {
  const std::vector<std::uint8_t> sound = encode_mask(sample_mask(2, 70 * 4, 4));
  for (std::size_t n = 0; n < sound.size(); n += 7) EXPECT_THROW(decode_mask(std::span(sound).first(n)), Error);
  Rng rng(5);
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::uint8_t> bytes(sound.begin(), sound.end() - 4);
    // Mostly in the header, where the sizes are.
    const std::size_t at =
        static_cast<std::size_t>(rng.below(i % 4 == 0 ? static_cast<std::int64_t>(bytes.size()) : 24));
    bytes[at] = static_cast<std::uint8_t>(rng.bits());
    const std::uint32_t crc = crc32c(bytes);
    for (unsigned shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<std::uint8_t>(crc >> shift));
    try {
      EXPECT_EQ(encode_mask(decode_mask(bytes)), bytes);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kStoreCorrupt);
    }
  }
}

// The density of each cell from single (query, key) pairs of tokens. A token that two cells share counts in parts.
std::vector<double> brute_force(const BlockMask& mask, int head) {
  constexpr int kSide = DensityThumbnail::kSide;
  const double cell_tokens = static_cast<double>(mask.tokens()) / kSide;
  std::vector<std::int32_t> block_of;
  for (std::int32_t b = 0; b < mask.blocks(); ++b)
    block_of.insert(block_of.end(), static_cast<std::size_t>(mask.block(b).size()), b);
  const auto shared = [&](int token, int cell) {
    return std::max(0.0, std::min(token + 1.0, (cell + 1) * cell_tokens) - std::max<double>(token, cell * cell_tokens));
  };
  std::vector<double> density(kSide * kSide, 0);
  for (int q = 0; q < mask.tokens(); ++q)
    for (int k = 0; k < mask.tokens(); ++k) {
      if (!mask.active(head, block_of[static_cast<std::size_t>(q)], block_of[static_cast<std::size_t>(k)])) continue;
      for (int y = static_cast<int>(q / cell_tokens); y < kSide && shared(q, y) > 0; ++y)
        for (int x = static_cast<int>(k / cell_tokens); x < kSide && shared(k, x) > 0; ++x)
          density[static_cast<std::size_t>(y * kSide + x)] += shared(q, y) * shared(k, x) / (cell_tokens * cell_tokens);
    }
  return density;
}

TEST(Thumbnail, EqualsTheDensityOfTokenPairs) {
  // More blocks than cells, fewer blocks, fewer tokens than cells, ragged ends.
  for (const BlockMask& mask : {sample_mask(2, 331, 3), sample_mask(1, 250, 16), sample_mask(1, 50, 7)})
    for (int head = 0; head < mask.heads(); ++head) {
      const DensityThumbnail picture = make_thumbnails(mask)[static_cast<std::size_t>(head)];
      const std::vector<double> expected = brute_force(mask, head);
      ASSERT_EQ(picture.cells.size(), expected.size());
      for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(picture.cells[i], expected[i] * 255, 0.51) << i;
    }
}

}  // namespace
}  // namespace spscope
