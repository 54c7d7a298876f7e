// The stress masks of db-SP's ablation have the bits of their definitions: 40 heads, 1,184 blocks. The ratios that its
// authors report are those of plans on them (tests/unit/schedule/imbalance_test.cpp).
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "backend/mask/pattern.h"

namespace spscope {
namespace {

PatternRequest ablation_request(const Pattern& pattern) {
  PatternRequest request;
  request.heads = 40;
  request.grid = {32, 37, 32};
  request.block = 32;
  request.parameters = Parameters(pattern.parameters());
  return request;
}

BlockMask stress_mask(const char* name) {
  const Pattern& pattern = *find_pattern(name);
  return pattern.generate(ablation_request(pattern));
}

template <typename Active>
void expect_bits(const char* name, Active&& active) {
  const BlockMask mask = stress_mask(name);
  for (int h = 0; h < 40; h += 3) {
    for (int q = 0; q < 1184; q += 5)
      for (int k = 0; k < 1184; ++k) ASSERT_EQ(mask.active(h, q, k), active(h, q, k)) << name << ' ' << h << ' ' << q;
  }
}

TEST(StressMask, BitsAreThoseOfTheDefinition) {
  const std::set<int> dense = {0, 1, 2, 3, 4, 5, 10, 15, 20, 21, 25, 26, 30, 31, 35, 36};
  const std::vector<int> columns = {93, 93, 93, 93, 93, 93, 34, 0};
  expect_bits("headwise", [&](int h, int, int) { return dense.count(h) > 0; });
  expect_bits("tokenwise", [&](int, int, int k) { return k % 148 < columns[k / 148]; });
  expect_bits("hybrid-window", [](int h, int q, int k) { return k < q && k >= q - 20 * h; });
  expect_bits("chess", [](int, int q, int k) { return (q / 148 + k / 148) % 2 == 1; });
}

// Bit for bit at a size that can be seen: 16 blocks, 4 heads.
TEST(StressMask, OtherSizesKeepTheParts) {
  auto small = [](const char* name) {
    PatternRequest request = ablation_request(*find_pattern(name));
    request.heads = 4;
    request.grid = {1, 16, 32};
    return find_pattern(name)->generate(request);
  };
  const BlockMask windows = small("hybrid-window");
  for (int head = 0; head < 4; ++head) {
    const int window = static_cast<int>(std::lround(20.0 * head * 10 * 16 / 1184));
    for (int q = 0; q < 16; ++q)
      for (int k = 0; k < 16; ++k) EXPECT_EQ(windows.active(head, q, k), k < q && k >= q - window);
  }
  const BlockMask heads = small("headwise");
  for (int head = 0; head < 4; ++head) EXPECT_EQ(heads.active(head, 3, 5), head % 2 == 0) << head;
  EXPECT_NEAR(small("tokenwise").density(), 13.0 / 16, 1e-12);  // both of each eighth, one of the seventh, none
}

}  // namespace
}  // namespace spscope
