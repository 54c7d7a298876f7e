#include "backend/execute/reference/known_faults.h"

#include <gtest/gtest.h>

namespace spscope {
namespace {

// Of 64 tokens every eighth was compared. What is said of a rank is so of all its rows.
TEST(KnownFaults, ARankIsNamedOnceEveryRowOfItIsKnownToBe0) {
  const BlockMask mask(1, BlockMask::uniform_starts(64, 16));
  const RightAttention attention{.head_rows = [&](std::int32_t, int) { return HeadRows{.mask = &mask}; },
                                 .heads = 1,
                                 .head_dim = 1,
                                 .tokens = 64,
                                 .parts = {4}};
  const auto said = [&](Span zero, Span compared_zero) {
    ComparedRows rows;
    for (std::int32_t token = 0; token < 64; token += 8) {
      const bool off = compared_zero.begin <= token && token < compared_zero.end;
      rows.places.push_back({0, token});
      rows.found.push_back(off ? 0 : 1);
      rows.right.push_back(1);
      rows.errors.push_back(off ? 1 : 0);
      rows.limits.push_back(0.5);
    }
    const auto left_zero = [&](std::int32_t token, std::int32_t) { return zero.begin <= token && token < zero.end; };
    return known_faults(attention, rows, left_zero).at(0).text;
  };
  EXPECT_EQ(said({16, 32}, {16, 32}), "the rows of rank 1 of 4 are 0: tokens 16 to 31");
  EXPECT_EQ(said({0, 48}, {0, 48}), "the rows of ranks 0, 1 and 2 of 4 are 0: tokens 0 to 15, 16 to 31 and 32 to 47");
  EXPECT_EQ(said({16, 31}, {16, 32}), "every row that was compared and is off is 0");
  EXPECT_EQ(said({0, 64}, {0, 64}), "all of its rows are 0");
  EXPECT_EQ(said({0, 63}, {0, 64}), "every row that was compared and is off is 0");
}

}  // namespace
}  // namespace spscope
