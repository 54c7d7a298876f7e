#include "backend/analysis/duration_statistics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

namespace spscope {
namespace {

constexpr int kBinsOfDoubling = 8;

}  // namespace

// Edges are 2^k (8 + j) / 8, whole numbers: below 8 each number is one.
std::int64_t histogram_edge_ns(std::int64_t duration_ns) {
  if (duration_ns < kBinsOfDoubling) return duration_ns;
  const int shift = std::bit_width(static_cast<std::uint64_t>(duration_ns)) - std::bit_width(unsigned{kBinsOfDoubling});
  return duration_ns >> shift << shift;
}

std::int64_t next_histogram_edge_ns(std::int64_t edge_ns) {
  if (edge_ns < kBinsOfDoubling) return edge_ns + 1;
  const int shift = std::bit_width(static_cast<std::uint64_t>(edge_ns)) - std::bit_width(unsigned{kBinsOfDoubling});
  const std::int64_t step = std::int64_t{1} << shift;
  return edge_ns > std::numeric_limits<std::int64_t>::max() - step ? std::numeric_limits<std::int64_t>::max() : edge_ns + step;
}

DurationStatistics duration_statistics(std::vector<std::int64_t> durations) {
  DurationStatistics s;
  if (durations.empty()) return s;
  std::ranges::sort(durations);
  const auto n = static_cast<std::int64_t>(durations.size());
  const auto percentile = [&](std::int64_t p) { return durations[static_cast<std::size_t>((p * n + 99) / 100 - 1)]; };
  s.count = n;
  s.total_ns = std::accumulate(durations.begin(), durations.end(), std::int64_t{0});
  s.min_ns = durations.front();
  s.max_ns = durations.back();
  s.median_ns = percentile(50);
  s.p90_ns = percentile(90);
  s.p99_ns = percentile(99);
  s.mean_ns = static_cast<double>(s.total_ns) / static_cast<double>(n);
  double squares = 0;
  for (const std::int64_t d : durations) {
    const double off = static_cast<double>(d) - s.mean_ns;
    squares += off * off;
  }
  s.deviation_ns = std::sqrt(squares / static_cast<double>(n));
  s.edges_ns.push_back(histogram_edge_ns(s.min_ns));
  std::size_t next = 0;
  while (next < durations.size()) {
    const std::int64_t end = next_histogram_edge_ns(s.edges_ns.back());
    std::int64_t inside = 0;
    for (; next < durations.size() && (durations[next] < end || end == std::numeric_limits<std::int64_t>::max()); ++next) ++inside;
    s.counts.push_back(inside);
    s.edges_ns.push_back(end);
  }
  return s;
}

}  // namespace spscope
