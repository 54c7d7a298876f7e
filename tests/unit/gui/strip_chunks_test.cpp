// Chunks of strips: the choice of their shift and what is kept against brute force; what a file gives against
// LodReader, also while finer chunks are being read.
#include "gui/views/timeline/strip_chunks.h"

#include <gtest/gtest.h>

#include <chrono>
#include <list>
#include <thread>

#include "backend/base/rng.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/store/two_ranks.h"

namespace spscope::gui {
namespace {

TEST(StripShift, IsTheSmallestThatIsAPixelWide) {
  for (const double ns_per_pixel : {0.01, 0.5, 1.0, 1.5, 2.0, 1000.0, 1024.0, 1025.0, 1e9, 1e19})
    for (const int least : {0, 3, 12}) {
      const int shift = strip_shift(ns_per_pixel, least);
      EXPECT_GE(shift, least);
      EXPECT_TRUE(std::ldexp(1.0, shift) >= ns_per_pixel || shift == kMaxLodShift);
      EXPECT_TRUE(shift == least || std::ldexp(1.0, shift - 1) < ns_per_pixel);
    }
}

TEST(StripShift, OfAllIsTheSmallestWithTwoChunks) {
  Rng rng(4);
  for (int i = 0; i < 300; ++i) {
    const std::int64_t begin = rng.below(std::int64_t{1} << rng.below(50)) - 1000;
    const std::int64_t end = begin + 1 + rng.below(std::int64_t{1} << (1 + rng.below(50)));
    const auto chunks = [&](int shift) {
      return ((end - 1) >> (shift + kChunkShift)) - (begin >> (shift + kChunkShift)) + 1;
    };
    const int shift = whole_shift(begin, end, 2);
    EXPECT_LE(chunks(shift), 2);
    EXPECT_TRUE(shift == 2 || chunks(shift - 1) > 2);
  }
}

TEST(LruCache, KeepsWhatWasUsedLastWithinItsBytes) {
  LruCache<int, int> cache(100);
  std::list<std::pair<int, std::size_t>> wanted;  // by use, the last first
  Rng rng(6);
  for (int i = 0; i < 5000; ++i) {
    const int key = static_cast<int>(rng.below(20));
    const auto at = std::ranges::find(wanted, key, &std::pair<int, std::size_t>::first);
    if (rng.below(2) == 0) {
      const std::shared_ptr<const int> found = cache.find(key);
      ASSERT_EQ(found != nullptr, at != wanted.end());
      if (found == nullptr) continue;
      ASSERT_EQ(*found, key);
      wanted.splice(wanted.begin(), wanted, at);
    } else {
      const auto bytes = static_cast<std::size_t>(1 + rng.below(i % 50 == 0 ? 200 : 40));
      cache.put(key, std::make_shared<const int>(key), bytes);
      if (at != wanted.end()) wanted.erase(at);
      wanted.emplace_front(key, bytes);
      const auto sum = [&] {
        std::size_t all = 0;
        for (const auto& one : wanted) all += one.second;
        return all;
      };
      while (sum() > 100 && wanted.size() > 1) wanted.pop_back();
      ASSERT_EQ(cache.bytes(), sum());
      ASSERT_EQ(cache.size(), wanted.size());
    }
  }
}

class ChunksOfFile : public spscope::testing::TwoRanks {
 protected:
  // Asks until nothing is being read any more.
  std::vector<StripPiece> settled(StripChunks& chunks, Workers& workers, const StripFile& file, int shift,
                                  std::int64_t begin_ns, std::int64_t end_ns) {
    while (true) {
      workers.begin_frame();
      chunks.begin_frame();
      std::vector<StripPiece> pieces = chunks.pieces(workers, file, shift, begin_ns, end_ns);
      chunks.end_frame();
      if (!chunks.loading()) return pieces;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
};

TEST_F(ChunksOfFile, ArePiecesOfTheStripsOfTheFile) {
  write_ranks();
  spscope::testing::merge(folder_ / "out.db", shards());
  const StoreReader store(folder_ / "out.db");
  const std::vector<RunSpan> runs = store.events().run_spans();
  ASSERT_EQ(runs.size(), 1u);
  int base = kMaxLodShift;
  for (const StoredPyramid& pyramid : store.lod().pyramids()) base = std::min(base, pyramid.base_shift);
  const StripFile file{folder_ / "out.db", 1, runs[0].first_ns, runs[0].last_ns + 1, base};
  Workers workers(2, [] {});
  StripChunks chunks;
  Rng rng(11);
  for (int i = 0; i < 30; ++i) {
    const int shift = base + static_cast<int>(rng.below(8));
    const std::int64_t begin = file.begin_ns + rng.below(file.end_ns - file.begin_ns);
    const std::int64_t end = begin + 1 + rng.below(file.end_ns - begin);
    // Whatever is there at once is right where it is, of this shift or a wider one.
    workers.begin_frame();
    for (const std::vector<StripPiece>& pieces :
         {chunks.pieces(workers, file, shift, begin, end), settled(chunks, workers, file, shift, begin, end)}) {
      std::int64_t reached = begin;
      for (const StripPiece& piece : pieces) {
        EXPECT_GE(piece.begin_ns, reached);
        reached = piece.end_ns;
        EXPECT_GE(piece.shift, shift);
        ASSERT_EQ(piece.rows.size(), 2u);
        const auto wanted =
            store.lod().row_strips(piece.shift, piece.first_bucket, piece.first_bucket + std::ssize(piece.rows[0]));
        for (std::size_t rank = 0; rank < 2; ++rank)
          ASSERT_TRUE(std::ranges::equal(piece.rows[rank], wanted[rank].strip));
        EXPECT_GE(lod_begin_ns(piece.first_bucket + std::ssize(piece.rows[0]), piece.shift), piece.end_ns);
        EXPECT_LE(lod_begin_ns(piece.first_bucket, piece.shift), piece.begin_ns);
      }
      EXPECT_LE(reached, end);
    }
    const std::vector<StripPiece> pieces = settled(chunks, workers, file, shift, begin, end);
    std::int64_t covered = 0;
    for (const StripPiece& piece : pieces) {
      EXPECT_EQ(piece.shift, shift);
      covered += piece.end_ns - piece.begin_ns;
    }
    EXPECT_EQ(covered, end - begin);
  }
}

TEST_F(ChunksOfFile, WhatCannotBeReadIsAnError) {
  Workers workers(1, [] {});
  StripChunks chunks;
  const StripFile file{folder_ / "none.db", 1, 0, 1000, 0};
  EXPECT_TRUE(settled(chunks, workers, file, 0, 0, 1000).empty());
  ASSERT_NE(chunks.error(file), nullptr);
  EXPECT_EQ(chunks.error(file)->code(), ErrorCode::kStoreOpen);
}

}  // namespace
}  // namespace spscope::gui
