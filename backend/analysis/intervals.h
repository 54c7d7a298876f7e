// Intervals of time of one rank, and what parts of them nothing before has covered.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace spscope {

struct Interval {
  std::int64_t begin = 0, end = 0;
  friend bool operator==(const Interval&, const Interval&) = default;
};

// Sorted and disjoint; empty ones are dropped.
std::vector<Interval> joined(std::vector<Interval> list);
// Of a joined list.
std::int64_t length(const std::vector<Interval>& list);

// How much of any interval a joined list covers, in O(log n).
class Cover {
 public:
  Cover() = default;
  explicit Cover(std::vector<Interval> list);
  const std::vector<Interval>& list() const { return list_; }
  // Length inside [begin, end); 0 when that is empty.
  std::int64_t inside(std::int64_t begin, std::int64_t end) const;

 private:
  std::int64_t before(std::int64_t time) const;  // length that ends before `time`

  std::vector<Interval> list_;
  std::vector<std::int64_t> sums_;  // of the intervals before each
};

// Hands each nanosecond to the first interval that has it. REQUIRES: calls in ascending order of `begin`.
class FirstCome {
 public:
  explicit FirstCome(const Cover& taken) : taken_(taken) {}
  // The part of [begin, end) that neither `taken` nor an interval of an earlier call covers.
  std::int64_t take(std::int64_t begin, std::int64_t end);

 private:
  const Cover& taken_;
  std::int64_t reached_ = std::numeric_limits<std::int64_t>::min();
};

}  // namespace spscope
