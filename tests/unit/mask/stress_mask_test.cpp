// The stress masks of db-SP's ablation have the bits of their definitions and the ratios that its authors report. 40
// heads, 1,184 blocks.
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "backend/mask/pattern.h"
#include "backend/mask/statistics.h"

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

struct Golden {
  int ulysses, ring;
  double barrier;
};

void expect_ratios(const char* name, double density, const std::vector<Golden>& golden) {
  const BlockMask mask = stress_mask(name);
  ASSERT_EQ(mask.blocks(), 1184);
  EXPECT_NEAR(mask.density(), density, 5e-4);
  for (const Golden& g : golden)
    EXPECT_NEAR(split_imbalance(mask, g.ulysses, g.ring).barrier, g.barrier, 5e-4)
        << name << " U" << g.ulysses << "R" << g.ring;
}

// As db-SP reports them; those of chess follow from its definition.
TEST(StressMask, RatiosAreThoseOfTheAblation) {
  expect_ratios("headwise", 0.4, {{8, 1, 2.5}, {4, 1, 1.5}, {2, 1, 1.0}});
  expect_ratios("tokenwise", 0.5, {{1, 8, 1.257}, {1, 4, 1.257}, {1, 2, 1.257}, {8, 1, 1.0}});
  expect_ratios("hybrid-window", 0.256,
                {{2, 1, 1.442}, {4, 1, 1.608}, {8, 1, 1.676}, {1, 2, 1.278}, {1, 4, 1.287}, {1, 8, 1.287}});
  expect_ratios("chess", 0.5, {{8, 1, 1.0}, {4, 2, 1.0}, {2, 4, 1.0}, {1, 8, 1.0}});
  EXPECT_DOUBLE_EQ(split_imbalance(stress_mask("tokenwise"), 1, 8).plain, 1.0) << "uneven only with barriers";
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
