#include "collectors/nccl/gpu_clock.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "backend/base/clock_drift.h"

namespace spscope::nccl {
namespace {

// Below this the jitter of two pairs would be read as a slope.
constexpr std::int64_t kLeastSpanNs = 2'000'000'000;

struct Point {
  std::int64_t timer_ns, offset_ns;
};

double slope(const Point& a, const Point& b) {
  return static_cast<double>(b.offset_ns - a.offset_ns) / static_cast<double>(b.timer_ns - a.timer_ns);
}

// The lower convex hull of points in ascending order of time.
std::vector<Point> lower_hull(const std::vector<Point>& points) {
  std::vector<Point> hull;
  for (const Point& p : points) {
    while (hull.size() >= 2 && slope(hull[hull.size() - 2], hull.back()) >= slope(hull.back(), p)) hull.pop_back();
    hull.push_back(p);
  }
  return hull;
}

}  // namespace

GpuClock::Part* GpuClock::part_of(std::int64_t timer_ns) {
  const std::int64_t number = timer_ns / kPartNs;
  Part& part = parts_[static_cast<std::size_t>(number) % kParts];
  if (part.number > number) return nullptr;  // older than the window
  if (part.number < number) part = {.number = number};
  return &part;
}

void GpuClock::seen(std::uint64_t timer_ns, std::int64_t host_ns) {
  const auto timer = static_cast<std::int64_t>(timer_ns & INT64_MAX);
  Part* const part = part_of(timer);
  const std::int64_t offset = host_ns - timer;
  if (part == nullptr || (part->has_pair && offset >= part->offset_ns)) return;
  part->has_pair = true;
  part->timer_ns = timer;
  part->offset_ns = offset;
  newest_ = std::max(newest_, part->number);
  fitted_ = false;
}

void GpuClock::not_before(std::uint64_t timer_ns, std::int64_t host_ns) {
  const auto timer = static_cast<std::int64_t>(timer_ns & INT64_MAX);
  Part& part = parts_[static_cast<std::size_t>(timer / kPartNs) % kParts];
  const std::int64_t offset = host_ns - timer;
  // A gate alone makes no part.
  if (part.number != timer / kPartNs || (part.has_gate && offset <= part.gate_offset_ns)) return;
  part.has_gate = true;
  part.gate_timer_ns = timer;
  part.gate_offset_ns = offset;
}

// The line below all points with the least sum of distances to them passes along the edge of the hull above which their
// mean time lies.
void GpuClock::fit() {
  if (fitted_) return;
  fitted_ = true;
  std::vector<Point> points;
  for (const Part& part : parts_)
    if (part.has_pair && in_window(part)) points.push_back({part.timer_ns, part.offset_ns});
  std::sort(points.begin(), points.end(), [](const Point& a, const Point& b) { return a.timer_ns < b.timer_ns; });
  const std::int64_t span_ns = points.back().timer_ns - points.front().timer_ns;
  if (span_ns >= kLeastSpanNs) {
    double mean = 0;
    for (const Point& p : points)
      mean += static_cast<double>(p.timer_ns - points.front().timer_ns) / static_cast<double>(points.size());
    const std::vector<Point> hull = lower_hull(points);
    std::size_t end = 1;
    while (end + 1 < hull.size() && static_cast<double>(hull[end].timer_ns - points.front().timer_ns) < mean) ++end;
    slope_ = slope(hull[end - 1], hull[end]);
    zero_timer_ns_ = hull[end - 1].timer_ns;
    zero_offset_ns_ = hull[end - 1].offset_ns;
    if (std::abs(slope_) <= kMaxClockDrift) return;
  }
  // Too short for a slope, or a clock that was set: the offset of late.
  slope_ = 0;
  const Point& last = points.back();
  zero_timer_ns_ = last.timer_ns;
  zero_offset_ns_ = last.offset_ns;
  for (const Point& p : points)
    if (last.timer_ns - p.timer_ns < kLeastSpanNs) zero_offset_ns_ = std::min(zero_offset_ns_, p.offset_ns);
}

double GpuClock::offset_at(std::int64_t timer_ns) const {
  return slope_ * static_cast<double>(timer_ns - zero_timer_ns_);
}

std::int64_t GpuClock::host_ns(std::uint64_t timer_ns) {
  fit();
  const auto timer = static_cast<std::int64_t>(timer_ns & INT64_MAX);
  return timer + zero_offset_ns_ + std::llround(offset_at(timer));
}

std::optional<std::int64_t> GpuClock::error_ns() {
  if (!known()) return std::nullopt;
  fit();
  std::optional<std::int64_t> error;
  for (const Part& part : parts_) {
    if (!part.has_gate || !in_window(part)) continue;
    const std::int64_t late = zero_offset_ns_ + std::llround(offset_at(part.gate_timer_ns)) - part.gate_offset_ns;
    error = std::max<std::int64_t>(0, std::min(error.value_or(late), late));
  }
  return error;
}

}  // namespace spscope::nccl
