#include "backend/analysis/intervals.h"

#include <algorithm>

namespace spscope {

std::vector<Interval> joined(std::vector<Interval> list) {
  std::erase_if(list, [](const Interval& i) { return i.begin >= i.end; });
  std::ranges::sort(list, {}, &Interval::begin);
  std::size_t n = 0;
  for (const Interval& i : list) {
    if (n > 0 && i.begin <= list[n - 1].end)
      list[n - 1].end = std::max(list[n - 1].end, i.end);
    else
      list[n++] = i;
  }
  list.resize(n);
  return list;
}

std::int64_t length(const std::vector<Interval>& list) {
  std::int64_t sum = 0;
  for (const Interval& i : list) sum += i.end - i.begin;
  return sum;
}

Cover::Cover(std::vector<Interval> list) : list_(std::move(list)) {
  sums_.reserve(list_.size());
  std::int64_t sum = 0;
  for (const Interval& i : list_) {
    sums_.push_back(sum);
    sum += i.end - i.begin;
  }
}

std::int64_t Cover::before(std::int64_t time) const {
  const auto after = std::ranges::lower_bound(list_, time, {}, &Interval::begin);
  if (after == list_.begin()) return 0;
  const auto last = static_cast<std::size_t>(after - list_.begin()) - 1;
  return sums_[last] + std::min(time, list_[last].end) - list_[last].begin;
}

std::int64_t Cover::inside(std::int64_t begin, std::int64_t end) const {
  return begin < end ? before(end) - before(begin) : 0;
}

std::int64_t FirstCome::take(std::int64_t begin, std::int64_t end) {
  const std::int64_t from = std::max(begin, reached_);
  reached_ = std::max(reached_, end);
  return from < end ? end - from - taken_.inside(from, end) : 0;
}

}  // namespace spscope
