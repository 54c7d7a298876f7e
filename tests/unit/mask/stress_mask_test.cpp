// The stress masks of db-SP's ablation have the bits of their definitions: 40 heads, 1,184 blocks. The ratios that its
// authors report are those of plans on them (tests/unit/schedule/imbalance_test.cpp).
#include <gtest/gtest.h>

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
  for (int h = 0; h < 40; h += 3)
    for (int q = 0; q < 1184; q += 11)
      for (int k = 0; k < 1184; ++k) ASSERT_EQ(mask.active(h, q, k), active(h, q, k)) << name << ' ' << h << ' ' << q;
}

TEST(StressMask, BitsAreThoseOfTheDefinition) {
  const std::set<int> dense = {0, 1, 2, 3, 4, 5, 10, 15, 20, 21, 25, 26, 30, 31, 35, 36};
  const std::vector<int> columns = {93, 93, 93, 93, 93, 93, 34, 0};
  expect_bits("headwise", [&](int h, int, int) { return dense.count(h) > 0; });
  expect_bits("tokenwise", [&](int, int, int k) { return k % 148 < columns[k / 148]; });
  expect_bits("hybrid-window", [](int h, int q, int k) { return k < q && k >= q - 20 * h; });
  expect_bits("chess", [](int, int q, int k) { return (q / 148 + k / 148) % 2 == 1; });
}

}  // namespace
}  // namespace spscope
