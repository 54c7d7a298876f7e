// Statistics of the durations of events that have one name: what a list of them is like, exactly.
#pragma once

#include <cstdint>
#include <vector>

namespace spscope {

// Of N durations d_1 <= ... <= d_N. A percentile p is d_ceil(p N / 100), the nearest rank, which is a duration that
// occurred; the median is p = 50.
struct DurationStatistics {
  std::int64_t count = 0, total_ns = 0, min_ns = 0, max_ns = 0, median_ns = 0, p90_ns = 0, p99_ns = 0;
  double mean_ns = 0, deviation_ns = 0;  // of the population: sqrt(mean((d - mean)^2))
  // Bin i holds durations in [edges_ns[i], edges_ns[i + 1]); eight bins to each doubling, from the one of min_ns to the
  // one of max_ns. Durations of 0 are in a bin [0, 1) of their own.
  std::vector<std::int64_t> edges_ns, counts;
};

// REQUIRES: no duration is below 0. Empty lists have a count of 0 and no bins.
DurationStatistics duration_statistics(std::vector<std::int64_t> durations_ns);

// The edge of the bin that holds a duration: the largest one that is not above it.
std::int64_t histogram_edge_ns(std::int64_t duration_ns);
// The edge after that one.
std::int64_t next_histogram_edge_ns(std::int64_t edge_ns);

}  // namespace spscope
