#include "backend/base/clock_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>

#include "backend/base/clock_drift.h"

namespace spscope {
namespace {

constexpr std::int64_t kForever = std::numeric_limits<std::int64_t>::max();
// Quartz clocks differ by tens of ppm: a drift whose uncertainty exceeds this is set to 0.
constexpr double kUsefulDrift = 100e-6;
// The bound looks at the tightest gate of each of these parts of the interval, so a clock that bends shows.
constexpr int kWindows = 16;

double difference(std::int64_t a, std::int64_t b) { return static_cast<double>(static_cast<__int128>(a) - b); }

std::int64_t saturated(double value) {
  if (value >= 9.2233720368547e18) return kForever;
  if (value <= -9.2233720368547e18) return std::numeric_limits<std::int64_t>::min();
  return std::llround(value);
}

// One side of an exchange: at x of this clock, the run clock is ahead by at most (or at least) y of what it was at
// zero.
struct Point {
  double x = 0, y = 0;
  std::size_t sample = 0;
};

// y = level + slope * x
struct Line {
  double level = 0, slope = 0;
  double at(double x) const { return level + slope * x; }
};

// The samples by time, relative to the first, so that doubles hold them to the nanosecond for 104 days.
struct Exchanges {
  std::vector<ClockSample> samples;
  ClockSample zero;
  double sent(std::size_t i) const { return difference(samples[i].sent_ns, zero.sent_ns); }
  double remote(std::size_t i) const { return difference(samples[i].remote_ns, zero.remote_ns); }
  double received(std::size_t i) const { return difference(samples[i].received_ns, zero.sent_ns); }
  double round_trip(std::size_t i) const { return difference(samples[i].received_ns, samples[i].sent_ns); }
};

Exchanges in_order(std::span<const ClockSample> samples) {
  Exchanges exchanges;
  for (const ClockSample& sample : samples) {
    if (sample.received_ns >= sample.sent_ns) exchanges.samples.push_back(sample);
  }
  std::ranges::sort(exchanges.samples, [](const ClockSample& a, const ClockSample& b) {
    return std::tie(a.sent_ns, a.received_ns, a.remote_ns) < std::tie(b.sent_ns, b.received_ns, b.remote_ns);
  });
  if (!exchanges.samples.empty()) exchanges.zero = exchanges.samples.front();
  return exchanges;
}

// The corners of the points' lower convex hull, left to right (Andrew's monotone chain). One point per x at most.
std::vector<Point> lower_hull(std::vector<Point> points) {
  std::ranges::sort(points, [](const Point& a, const Point& b) { return std::tie(a.x, a.y) < std::tie(b.x, b.y); });
  std::vector<Point> hull;
  for (const Point& p : points) {
    if (!hull.empty() && hull.back().x == p.x) continue;
    while (hull.size() >= 2) {
      const Point& a = hull[hull.size() - 2];
      const Point& b = hull.back();
      if ((b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x) > 0) break;
      hull.pop_back();
    }
    hull.push_back(p);
  }
  return hull;
}

// The hull's edge over the middle of the interval. Among the lines under all points it is the one nearest to them on
// the whole, which is the likeliest line when jitter is exponential.
Line middle_edge(const std::vector<Point>& hull) {
  if (hull.size() == 1) return {.level = hull[0].y};
  const double middle = (hull.front().x + hull.back().x) / 2;
  std::size_t right = 1;
  while (hull[right].x < middle) ++right;
  const Point &a = hull[right - 1], &b = hull[right];
  const double slope = (b.y - a.y) / (b.x - a.x);
  return {.level = a.y - slope * a.x, .slope = slope};
}

// What run(sent) cannot exceed, and, with the sign of y turned, what run(received) cannot fall below.
struct Envelopes {
  std::vector<Point> above, below;
};

Envelopes envelopes(const Exchanges& exchanges) {
  std::vector<Point> above, below;
  for (std::size_t i = 0; i < exchanges.samples.size(); ++i) {
    above.push_back({exchanges.sent(i), exchanges.remote(i) - exchanges.sent(i), i});
    below.push_back({exchanges.received(i), exchanges.received(i) - exchanges.remote(i), i});
  }
  return {.above = lower_hull(std::move(above)), .below = lower_hull(std::move(below))};
}

double lowest(const std::vector<Point>& hull) {
  return std::ranges::min(hull, {}, [](const Point& p) { return p.y; }).y;
}

std::size_t shortest_round_trip(const Exchanges& exchanges) {
  std::size_t shortest = 0;
  for (std::size_t i = 1; i < exchanges.samples.size(); ++i) {
    if (exchanges.round_trip(i) < exchanges.round_trip(shortest)) shortest = i;
  }
  return shortest;
}

// How far the run clock is ahead of the raw clock since the first exchange.
Line middle_line(const Exchanges& exchanges, const Envelopes& sides) {
  const double shortest = exchanges.round_trip(shortest_round_trip(exchanges));
  const double interval = exchanges.sent(exchanges.samples.size() - 1);
  const Line above = middle_edge(sides.above), below = middle_edge(sides.below);
  const Line middle = {.level = (above.level - below.level) / 2, .slope = (above.slope - below.slope) / 2};
  if (interval > 0 && shortest <= kUsefulDrift * interval && std::abs(middle.slope) <= kMaxClockDrift) return middle;
  return {.level = (lowest(sides.above) - lowest(sides.below)) / 2};
}

// How fast the error of this line can grow: the run clock drifts from the raw one by at most kMaxClockDrift.
double steepest_error(const Line& line) { return kMaxClockDrift + std::abs(line.slope); }

// The largest error of the line at the time of this exchange.
double gate(const Exchanges& exchanges, const Line& line, std::size_t i) {
  const double above = exchanges.remote(i) - (exchanges.sent(i) + line.at(exchanges.sent(i)));
  const double below = exchanges.received(i) + line.at(exchanges.received(i)) - exchanges.remote(i);
  // The two hold a round trip apart; meanwhile the clocks drift.
  return std::max(above, below) + exchanges.round_trip(i) * steepest_error(line);
}

// The exchange with the tightest gate of each part of the interval.
std::vector<std::size_t> tightest_gates(const Exchanges& exchanges, const Line& line) {
  const std::size_t count = exchanges.samples.size();
  const double interval = exchanges.sent(count - 1);
  std::optional<std::size_t> tightest[kWindows];
  for (std::size_t i = 0; i < count; ++i) {
    const int window = interval > 0 ? static_cast<int>(exchanges.sent(i) / interval * (kWindows - 1) + 0.5) : 0;
    auto& best = tightest[window];
    if (!best || gate(exchanges, line, i) < gate(exchanges, line, *best)) best = i;
  }
  std::vector<std::size_t> gates;
  for (const auto& best : tightest) {
    if (best) gates.push_back(*best);
  }
  return gates;
}

// The error of a straight clock against a line is itself straight, so between two gates it is below the wider one, and
// beyond the outermost ones it grows at most as fast as it can cross from one side to the other between them.
double bound(const Exchanges& exchanges, const Line& line, const std::vector<std::size_t>& gates) {
  double widest = 0, last = 0;
  for (const std::size_t i : gates) widest = std::max(widest, gate(exchanges, line, i));
  for (std::size_t i = 0; i < exchanges.samples.size(); ++i) last = std::max(last, exchanges.received(i));
  const double from = exchanges.sent(gates.front()), to = exchanges.sent(gates.back());
  const double outside = std::max(from, last - to);
  const double crossing = to > from ? 2 * widest / (to - from) : steepest_error(line);
  return widest + outside * std::min(crossing, steepest_error(line));
}

}  // namespace

ClockFit fit_clock(std::span<const ClockSample> samples) {
  const Exchanges exchanges = in_order(samples);
  const auto used = static_cast<std::int64_t>(exchanges.samples.size());
  const std::int64_t rejected = static_cast<std::int64_t>(samples.size()) - used;
  if (used == 0) return {.bound_ns = kForever, .rejected = rejected};
  const Line line = middle_line(exchanges, envelopes(exchanges));
  const double error = bound(exchanges, line, tightest_gates(exchanges, line));
  return {.raw_zero_ns = exchanges.zero.sent_ns,
          .offset_ns = run_time_ns({.offset_ns = exchanges.zero.remote_ns}, saturated(line.level)),
          .drift = line.slope,
          .bound_ns = saturated(std::ceil(error) + 1),  // 1: offset and run times are whole nanoseconds
          .exchanges = used,
          .rejected = rejected};
}

std::int64_t run_time_ns(const ClockFit& fit, std::int64_t raw_ns) noexcept {
  const __int128 since = static_cast<__int128>(raw_ns) - fit.raw_zero_ns;
  const __int128 run = since + saturated(static_cast<double>(since) * fit.drift) + fit.offset_ns;
  constexpr __int128 lowest = std::numeric_limits<std::int64_t>::min(), highest = kForever;
  return static_cast<std::int64_t>(std::clamp(run, lowest, highest));
}

std::vector<ClockSample> clock_envelope(std::span<const ClockSample> samples) {
  const Exchanges exchanges = in_order(samples);
  if (exchanges.samples.empty()) return {};
  const Envelopes sides = envelopes(exchanges);
  std::vector<std::size_t> kept = tightest_gates(exchanges, middle_line(exchanges, sides));
  kept.insert(kept.end(), {0, shortest_round_trip(exchanges)});
  for (const Point& corner : sides.above) kept.push_back(corner.sample);
  for (const Point& corner : sides.below) kept.push_back(corner.sample);
  std::ranges::sort(kept);
  kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  std::vector<ClockSample> result;
  for (const std::size_t i : kept) result.push_back(exchanges.samples[i]);
  return result;
}

}  // namespace spscope
