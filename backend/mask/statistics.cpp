#include "backend/mask/statistics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "backend/base/check.h"

namespace spscope {
namespace {

constexpr int kBins = 10;

// Calls visit(head, query block, key block) for each active tile.
template <typename Visit>
void for_each_tile(const BlockMask& mask, Visit&& visit) {
  for (int head = 0; head < mask.heads(); ++head) {
    for (std::int32_t q = 0; q < mask.coarse_blocks(); ++q) {
      const std::span<const std::uint64_t> row = mask.row(head, q);
      for (std::size_t w = 0; w < row.size(); ++w) {
        for (std::uint64_t word = row[w]; word != 0; word &= word - 1) {
          visit(head, q, static_cast<std::int32_t>(w * 64) + std::countr_zero(word));
        }
      }
    }
  }
}

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double coefficient_of_variation(std::span<const double> values) {
  const double centre = mean(values);
  if (centre == 0) return 0;
  double squares = 0;
  for (double x : values) squares += (x - centre) * (x - centre);
  return std::sqrt(squares / static_cast<double>(values.size())) / centre;
}

// Part of each index when `size` indices are cut into `parts` at size * p / parts.
std::vector<int> part_of_index(std::int64_t size, std::int64_t parts) {
  std::vector<int> part(size);
  for (std::int64_t p = 0; p < parts; ++p) {
    for (std::int64_t i = size * p / parts; i < size * (p + 1) / parts; ++i) part[i] = static_cast<int>(p);
  }
  return part;
}

}  // namespace

Histogram histogram(std::span<const double> values, int bins) {
  SPSCOPE_CHECK(bins >= 1);
  Histogram counts(bins, 0);
  for (double x : values) ++counts[std::clamp(static_cast<int>(x * bins), 0, bins - 1)];
  return counts;
}

MaskStatistics describe(const BlockMask& mask) {
  MaskStatistics result;
  const std::size_t blocks = mask.coarse_blocks();
  const std::span<const std::int32_t> starts = mask.coarse_starts();
  auto size = [&starts](std::int32_t b) { return static_cast<double>(starts[b + 1] - starts[b]); };
  result.head_density.assign(mask.heads(), 0);
  result.row_load.assign(blocks, 0);
  result.column_load.assign(blocks, 0);
  for_each_tile(mask, [&](int head, std::int32_t q, std::int32_t k) {
    result.head_density[head] += size(q) * size(k);
    result.row_load[q] += size(k);
    result.column_load[k] += size(q);
    ++result.active_tiles;
  });
  for (int head = 0; head < mask.heads(); ++head) {
    for (std::int32_t q = 0; q < mask.coarse_blocks(); ++q) {
      const std::span<const std::uint64_t> row = mask.row(head, q);
      result.empty_rows += std::all_of(row.begin(), row.end(), [](std::uint64_t word) { return word == 0; });
    }
  }
  const double tokens = mask.tokens();
  for (double& density : result.head_density) density /= tokens * tokens;
  for (double& load : result.row_load) load /= tokens * mask.heads();
  for (double& load : result.column_load) load /= tokens * mask.heads();
  result.density = mean(result.head_density);
  result.head_cv = coefficient_of_variation(result.head_density);
  result.head_histogram = histogram(result.head_density, kBins);
  result.row_histogram = histogram(result.row_load, kBins);
  result.column_histogram = histogram(result.column_load, kBins);
  return result;
}

double imbalance_ratio(std::span<const double> loads) {
  SPSCOPE_CHECK(!loads.empty());
  const double average = mean(loads);
  return average == 0 ? 1 : *std::max_element(loads.begin(), loads.end()) / average;
}

SplitImbalance split_imbalance(const BlockMask& mask, int ulysses, int ring) {
  SPSCOPE_CHECK(ulysses >= 1 && ulysses <= mask.heads() && ring >= 1 && ring <= mask.coarse_blocks());
  const std::vector<int> group_of_head = part_of_index(mask.heads(), ulysses);
  const std::vector<int> part_of_block = part_of_index(mask.coarse_blocks(), ring);
  const std::size_t ranks = static_cast<std::size_t>(ulysses) * ring;
  std::vector<double> load(ranks, 0), loads(ranks * ring, 0);  // loads[group, ring rank, step]
  const std::span<const std::int32_t> starts = mask.coarse_starts();
  const auto size = [&starts](std::int32_t b) { return static_cast<double>(starts[b + 1] - starts[b]); };
  for_each_tile(mask, [&](int head, std::int32_t q, std::int32_t k) {
    const int part = part_of_block[q], step = (part_of_block[k] - part + ring) % ring;
    const std::size_t rank = static_cast<std::size_t>(group_of_head[head]) * ring + part;
    const double area = size(q) * size(k);
    load[rank] += area;
    loads[rank * ring + step] += area;
  });
  const double average = mean(load);
  if (average == 0) return {};
  double slowest_group = 0, all_ranks = 0;
  std::vector<double> slowest(ring, 0);  // by step, over all ranks
  for (int group = 0; group < ulysses; ++group) {
    double sum = 0;
    for (int step = 0; step < ring; ++step) {
      double most = 0;
      for (int part = 0; part < ring; ++part) {
        most = std::max(most, loads[(static_cast<std::size_t>(group) * ring + part) * ring + step]);
      }
      sum += most;
      slowest[step] = std::max(slowest[step], most);
    }
    slowest_group = std::max(slowest_group, sum);
  }
  for (double most : slowest) all_ranks += most;
  return {.plain = imbalance_ratio(load), .barrier = slowest_group / average, .barrier_all_ranks = all_ranks / average};
}

double similarity(const BlockMask& a, const BlockMask& b) {
  SPSCOPE_CHECK(a.heads() == b.heads() && a.coarse_blocks() == b.coarse_blocks());
  std::int64_t both = 0, either = 0;
  for (int head = 0; head < a.heads(); ++head) {
    for (std::int32_t q = 0; q < a.coarse_blocks(); ++q) {
      const std::span<const std::uint64_t> row_a = a.row(head, q), row_b = b.row(head, q);
      for (std::size_t w = 0; w < row_a.size(); ++w) {
        both += std::popcount(row_a[w] & row_b[w]);
        either += std::popcount(row_a[w] | row_b[w]);
      }
    }
  }
  return either == 0 ? 1 : static_cast<double>(both) / static_cast<double>(either);
}

}  // namespace spscope
