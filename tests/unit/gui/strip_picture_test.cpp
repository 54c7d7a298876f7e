// Strips as pixels against brute force: each nanosecond of a column asks its bucket how busy it is.
#include "gui/views/timeline/strip_picture.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "backend/base/rng.h"
#include "backend/store/pyramid/lod_pyramid.h"

namespace spscope::gui {
namespace {

TEST(StripPicture, PartsOfCategoriesAreThoseOfTheReport) {
  const auto part_of = [](EventCategory category, RowOf row) {
    LodBucket bucket;
    bucket.busy_ns[static_cast<std::size_t>(category)] = 9;
    return part_of_strip(lod_strip_byte(bucket, 4), row);
  };
  using enum TimePart;
  const TimePart parts[kNumEventCategories] = {kOther,       kCompute,  kCompute,  kCompute,   kWire,
                                               kWire,        kLatePeer, kKernel,   kCopy,      kMemset,
                                               kSynchronize, kApi,      kOverhead, kAnnotation};
  for (int c = 0; c < kNumEventCategories; ++c) {
    const auto category = static_cast<EventCategory>(c);
    EXPECT_EQ(part_of(category, RowOf::kLanes), parts[c]) << c;
    EXPECT_EQ(part_of(category, RowOf::kTrack), parts[c] == kLatePeer ? kQueued : parts[c]) << c;
  }
  EXPECT_EQ(part_of_strip(0xf1, RowOf::kLanes), TimePart::kOther);  // a category of a later program
}

struct Case {
  std::vector<std::vector<std::vector<std::uint8_t>>> bytes;  // by piece, row
  std::vector<StripPiece> pieces;
  std::vector<StripRow> rows;
  std::int64_t zero_ns = 0, begin_ns = 0, end_ns = 0;
  int columns = 1;
};

// Pieces side by side from the zero on, each of a shift of its own, some with a gap before them.
Case random_case(Rng& rng) {
  Case made;
  const int num_rows = 1 + static_cast<int>(rng.below(4));
  made.zero_ns = rng.below(1000);
  std::int64_t at = made.zero_ns;
  const int num_pieces = 1 + static_cast<int>(rng.below(3));
  for (int p = 0; p < num_pieces; ++p) {
    StripPiece piece;
    piece.shift = static_cast<int>(rng.below(6));
    piece.begin_ns = at + (rng.below(3) == 0 ? rng.below(50) : 0);
    piece.end_ns = at = piece.begin_ns + 1 + rng.below(400);
    piece.first_bucket = lod_bucket(piece.begin_ns, piece.shift);
    const std::int64_t buckets = lod_bucket(piece.end_ns - 1, piece.shift) - piece.first_bucket + 1;
    auto& rows = made.bytes.emplace_back();
    for (int r = 0; r < num_rows; ++r) {
      // Some rows know less than the others.
      auto& row = rows.emplace_back(static_cast<std::size_t>(rng.below(5) == 0 ? buckets / 2 : buckets));
      for (std::uint8_t& byte : row)
        byte = static_cast<std::uint8_t>(rng.below(4) == 0 ? 0 : rng.below(8) << 4 | rng.below(16));
    }
    made.pieces.push_back(std::move(piece));
  }
  for (std::size_t p = 0; p < made.pieces.size(); ++p)
    for (const auto& row : made.bytes[p]) made.pieces[p].rows.emplace_back(row);
  for (int r = num_rows; r-- > 0;)
    if (rng.below(4) != 0) made.rows.push_back({r, rng.below(2) == 0 ? RowOf::kLanes : RowOf::kTrack});
  const std::int64_t length = at - made.zero_ns;
  made.begin_ns = rng.below(length);
  made.columns = 1 + static_cast<int>(rng.below(30));
  // Columns are whole nanoseconds wide, so that brute force can count them.
  made.end_ns = made.begin_ns + made.columns * (1 + rng.below(40));
  return made;
}

TEST(StripPicture, PixelsAreTheSumsOfTheirNanoseconds) {
  Rng rng(7);
  StripPixels pixels;
  for (int i = 0; i < 500; ++i) {
    const Case c = random_case(rng);
    fold_strips({c.pieces, c.rows, c.zero_ns}, static_cast<double>(c.begin_ns), static_cast<double>(c.end_ns),
                c.columns, pixels);
    ASSERT_EQ(pixels.cells.size(), c.rows.size() * static_cast<std::size_t>(c.columns));
    const std::int64_t width = (c.end_ns - c.begin_ns) / c.columns;
    for (std::size_t r = 0; r < c.rows.size(); ++r)
      for (int column = 0; column < c.columns; ++column) {
        std::array<double, kNumTimeParts> sums{};
        std::int64_t covered = 0;
        for (std::int64_t ns = 0; ns < width; ++ns) {
          const std::int64_t t = c.zero_ns + c.begin_ns + column * width + ns;
          for (std::size_t p = 0; p < c.pieces.size(); ++p) {
            const StripPiece& piece = c.pieces[p];
            if (t < piece.begin_ns || t >= piece.end_ns) continue;
            ++covered;
            const auto& row = c.bytes[p][static_cast<std::size_t>(c.rows[r].strip)];
            const auto bucket = static_cast<std::size_t>(lod_bucket(t, piece.shift) - piece.first_bucket);
            if (bucket < row.size())
              sums[static_cast<std::size_t>(part_of_strip(row[bucket], c.rows[r].of))] += (row[bucket] & 15) / 15.0;
          }
        }
        const PixelCell& cell =
            pixels.cells[r * static_cast<std::size_t>(c.columns) + static_cast<std::size_t>(column)];
        double busy = 0, most = 0;
        for (const double sum : sums) busy += sum, most = std::max(most, sum);
        ASSERT_NEAR(static_cast<double>(cell.busy), busy / static_cast<double>(width), 1e-5);
        if (busy > 0) {
          ASSERT_NEAR(sums[static_cast<std::size_t>(cell.part)], most, 1e-4);
        }
        ASSERT_NEAR(static_cast<double>(pixels.covered[static_cast<std::size_t>(column)]),
                    static_cast<double>(covered) / static_cast<double>(width), 1e-5);
      }
  }
}

}  // namespace
}  // namespace spscope::gui
