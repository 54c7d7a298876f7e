// CounterSeries: the samples of a counter, so that a picture of any range of time looks at no more of them than it has
// columns; and what a counter is called.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backend/record/events.h"

namespace spscope::gui {

// "power" and "W" of "GPU 0 power (W)" of the device "GPU 0 at 0000:3B:00.0".
struct CounterName {
  std::string quantity, unit;
};
CounterName counter_name(const Track& track);

// Samples that follow each other, from the first of them to the first of the next point; a value holds until the next.
struct CounterPoint {
  std::int64_t time_ns = 0;
  double least = 0, most = 0, last = 0;
  friend bool operator==(const CounterPoint&, const CounterPoint&) = default;
};

class CounterSeries {
 public:
  // Memory for a point is 64 bytes; of more samples, so many are one point that there are no more.
  static constexpr std::size_t kMostPoints = 1 << 18;

  // In order of time. Samples that are no numbers are left out.
  explicit CounterSeries(std::span<const CounterSample> samples, std::size_t most_points = kMostPoints);

  bool empty() const { return levels_.front().empty(); }
  double least() const { return least_; }
  double most() const { return most_; }
  // When the last sample was.
  std::int64_t last_ns() const { return last_ns_; }
  // What [begin, end) shows, the point that holds at its begin first: about `most` points at most, each of as many
  // samples as that needs.
  std::span<const CounterPoint> points(std::int64_t begin_ns, std::int64_t end_ns, std::size_t most) const;
  // What held at a moment, as close as it is known; nullptr before the first sample and after the last.
  const CounterPoint* at(std::int64_t ns) const;

 private:
  std::vector<std::vector<CounterPoint>> levels_;  // each of pairs of points of the one before
  double least_ = 0, most_ = 0;
  std::int64_t last_ns_ = 0;
};

}  // namespace spscope::gui
