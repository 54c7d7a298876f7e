// The stress masks of db-SP's ablation have the ratios that follow from their definitions, by a second implementation
// of its metric here and by split_imbalance(). 40 heads, 1,184 blocks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <string>
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

constexpr int kEighths = 8;

// Active blocks by (head, eighth of the queries, eighth of the keys).
std::vector<double> count_eighths(const BlockMask& mask) {
  const int length = mask.blocks() / kEighths;
  std::vector<double> count(static_cast<std::size_t>(mask.heads()) * kEighths * kEighths, 0);
  for (int h = 0; h < mask.heads(); ++h) {
    for (int q = 0; q < mask.blocks(); ++q) {
      const std::span<const std::uint64_t> row = mask.row(h, q);
      double* of_row = &count[(static_cast<std::size_t>(h) * kEighths + q / length) * kEighths];
      for (int k = 0; k < mask.blocks(); ++k) of_row[k / length] += static_cast<double>(row[k / 64] >> (k % 64) & 1);
    }
  }
  return count;
}

// Tiles of (ulysses group u, query chunk a, key chunk b), contiguous; U divides the heads and R eight.
class Tiles {
 public:
  Tiles(const std::vector<double>& eighths, int ulysses, int ring)
      : ulysses_(ulysses), ring_(ring), count_(static_cast<std::size_t>(ulysses) * ring * ring, 0) {
    const int heads = static_cast<int>(eighths.size()) / (kEighths * kEighths);
    for (std::size_t i = 0; i < eighths.size(); ++i) {
      const int b = static_cast<int>(i % kEighths), a = static_cast<int>(i / kEighths % kEighths),
                h = static_cast<int>(i / (kEighths * kEighths));
      count_[index(h * ulysses / heads, a * ring / kEighths, b * ring / kEighths)] += eighths[i];
    }
  }
  double mean() const {
    double sum = 0;
    for (double count : count_) sum += count;
    return sum / (ulysses_ * ring_);
  }
  // Ranks of a ring wait for each other after every step.
  double barrier() const {
    double slowest = 0;
    for (int u = 0; u < ulysses_; ++u) {
      double sum = 0;
      for (int step = 0; step < ring_; ++step) {
        double most = 0;
        for (int a = 0; a < ring_; ++a) most = std::max(most, at(u, a, step));
        sum += most;
      }
      slowest = std::max(slowest, sum);
    }
    return slowest / mean();
  }
  // Ranks wait for their neighbours to begin a step (the coupled ratio).
  double coupled() const {
    double last = 0;
    for (int u = 0; u < ulysses_; ++u) {
      std::vector<double> begin(ring_, 0), end(ring_, 0);
      for (int step = 0; step < ring_; ++step) {
        if (step > 0) {
          std::vector<double> next(ring_);
          for (int a = 0; a < ring_; ++a) {
            next[a] = std::max({end[a], begin[a], begin[(a + ring_ - 1) % ring_], begin[(a + 1) % ring_]});
          }
          begin = next;
        }
        for (int a = 0; a < ring_; ++a) end[a] = begin[a] + at(u, a, step);
      }
      last = std::max(last, *std::ranges::max_element(end));
    }
    return last / mean();
  }
  double async() const {
    double most = 0;
    for (int u = 0; u < ulysses_; ++u) {
      for (int a = 0; a < ring_; ++a) {
        double sum = 0;
        for (int step = 0; step < ring_; ++step) sum += at(u, a, step);
        most = std::max(most, sum);
      }
    }
    return most / mean();
  }

 private:
  std::size_t index(int u, int a, int b) const { return (static_cast<std::size_t>(u) * ring_ + a) * ring_ + b; }
  double at(int u, int a, int step) const { return count_[index(u, a, (a + step) % ring_)]; }

  int ulysses_, ring_;
  std::vector<double> count_;
};

struct Golden {
  int ulysses, ring;
  double barrier;
};

void expect_ratios(const char* name, double density, const std::vector<Golden>& golden) {
  const BlockMask mask = stress_mask(name);
  ASSERT_EQ(mask.blocks(), 1184);
  EXPECT_NEAR(mask.density(), density, 5e-4);
  const std::vector<double> eighths = count_eighths(mask);
  for (const Golden& g : golden) {
    SCOPED_TRACE(std::string(name) + " U" + std::to_string(g.ulysses) + "R" + std::to_string(g.ring));
    const double barrier = Tiles(eighths, g.ulysses, g.ring).barrier();
    EXPECT_NEAR(barrier, g.barrier, 5e-4);
    EXPECT_DOUBLE_EQ(split_imbalance(mask, g.ulysses, g.ring).barrier, barrier);
  }
}

TEST(StressMask, Headwise) { expect_ratios("headwise", 0.4, {{8, 1, 2.5}, {4, 1, 1.5}, {2, 1, 1.0}}); }

TEST(StressMask, Tokenwise) {
  expect_ratios("tokenwise", 0.5, {{1, 8, 1.257}, {1, 4, 1.257}, {1, 2, 1.257}, {8, 1, 1.0}});
  const std::vector<double> mask = count_eighths(stress_mask("tokenwise"));
  EXPECT_NEAR(Tiles(mask, 1, 8).coupled(), 1.10, 5e-3);
  EXPECT_NEAR(Tiles(mask, 1, 8).async(), 1.0, 1e-12);
  EXPECT_NEAR(Tiles(mask, 1, 4).coupled(), 1.0, 1e-12);
  EXPECT_NEAR(Tiles(mask, 1, 2).coupled(), 1.0, 1e-12);
}

TEST(StressMask, HybridWindow) {
  expect_ratios("hybrid-window", 0.256,
                {{2, 1, 1.442}, {4, 1, 1.608}, {8, 1, 1.676}, {1, 2, 1.278}, {1, 4, 1.287}, {1, 8, 1.287}});
  const std::vector<double> mask = count_eighths(stress_mask("hybrid-window"));
  for (const int ring : {2, 4, 8}) {
    const Tiles tiles(mask, 1, ring);
    EXPECT_NEAR(tiles.coupled(), tiles.barrier(), 5e-4);
    EXPECT_NEAR(tiles.async(), tiles.barrier(), 5e-4);
  }
}

TEST(StressMask, Chess) {
  expect_ratios("chess", 0.5, {{8, 1, 1.0}, {4, 2, 1.0}, {2, 4, 1.0}, {1, 8, 1.0}});
  const BlockMask mask = stress_mask("chess");
  for (int a = 0; a < 8; ++a) {
    for (int b = 0; b < 8; ++b) EXPECT_EQ(mask.active(17, a * 148 + 147, b * 148), (a + b) % 2 == 1) << a << ' ' << b;
  }
}

template <typename Active>
void expect_bits(const char* name, Active&& active) {
  const BlockMask mask = stress_mask(name);
  for (int h = 0; h < 40; h += 3) {
    for (int q = 0; q < 1184; q += 5) {
      for (int k = 0; k < 1184; ++k) ASSERT_EQ(mask.active(h, q, k), active(h, q, k)) << name << ' ' << h << ' ' << q;
    }
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
    for (int q = 0; q < 16; ++q) {
      for (int k = 0; k < 16; ++k) EXPECT_EQ(windows.active(head, q, k), k < q && k >= q - window);
    }
  }
  const BlockMask heads = small("headwise");
  for (int head = 0; head < 4; ++head) EXPECT_EQ(heads.active(head, 3, 5), head % 2 == 0) << head;
  EXPECT_NEAR(small("tokenwise").density(), 13.0 / 16, 1e-12);  // both of each eighth, one of the seventh, none
}

}  // namespace
}  // namespace spscope
