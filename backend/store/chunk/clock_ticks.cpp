#include "backend/store/chunk/clock_ticks.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <vector>

namespace spscope {

namespace {

constexpr std::int64_t kNudge = static_cast<std::int64_t>(ClockTicks::kNanosecond / 8);

constexpr std::uint64_t bits(std::int64_t x) { return static_cast<std::uint64_t>(x); }
constexpr std::int64_t number(std::uint64_t x) { return static_cast<std::int64_t>(x); }

constexpr double kShortest = 4, kLongest = 128;  // ns, of the ticks that are looked for
constexpr std::size_t kMostShort = 48, kFewestShort = 16;
constexpr double kLongestShort = 8'000;   // ns
constexpr std::size_t kMostSeen = 2'048;  // differences, but where longer and longer ones are looked for
constexpr double kRounding = 1.01;  // ns: a difference of two times that were rounded down is off by less than one
constexpr double kSlack = 0.25;     // ns, from trying only some ticks
constexpr int kMostTries = 8;

// Off by at most `tolerance` from a multiple of the tick.
bool fits(double ns, double tick, double tolerance) { return std::abs(ns - tick * std::round(ns / tick)) <= tolerance; }

// At most a few differences of each length in bits, from short to long: those between neighbours and, longer and
// longer, from the first time on.
std::vector<double> ladder(std::span<const std::int64_t> differences_ns) {
  constexpr std::size_t kEach = 12;
  std::array<std::vector<double>, 48> rungs;
  const auto add = [&](double ns) {
    const auto rung = static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(ns)));
    if (ns >= 1 && rung < rungs.size() && rungs[rung].size() < kEach) rungs[rung].push_back(ns);
  };
  double since_first = 0;
  for (const std::int64_t x : differences_ns) {
    const double ns = std::abs(static_cast<double>(x));
    if (ns >= 1e12) break;
    since_first += static_cast<double>(x);
    add(ns);
    add(std::abs(since_first));
  }
  std::vector<double> all;
  for (std::vector<double>& rung : rungs) {
    std::ranges::sort(rung);
    all.insert(all.end(), rung.begin(), rung.end());
  }
  return all;
}

// The shortest differences, each once, ascending.
std::vector<double> shortest(std::span<const std::int64_t> differences_ns) {
  std::vector<double> all;
  for (const std::int64_t x : differences_ns) {
    const double ns = std::abs(static_cast<double>(x));
    if (kShortest <= ns && ns <= kLongestShort) all.push_back(ns);
  }
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  all.resize(std::min(all.size(), kMostShort));
  return all;
}

// Follows a tick, which is nearly right for the shortest differences, through longer and longer ones.
double refined(double tick, std::span<const double> shorts, std::span<const double> ladder) {
  double squares = 0, products = 0;
  for (const std::span<const double> part : {shorts, ladder})
    for (const double ns : part) {
      const double ticks = std::round(ns / tick);
      if (std::abs(ns - ticks * tick) > 2 * kRounding) continue;
      squares += ticks * ticks, products += ticks * ns;
      tick = products / squares;
    }
  return tick;
}

// Whether few differences have a rest: with a wrong tick most have.
bool holds(std::uint64_t tick, std::span<const std::int64_t> differences_ns) {
  ClockTicks clock(tick);
  std::size_t rests = 0;
  for (const std::int64_t x : differences_ns) rests += clock.step(x).rest_ns != 0;
  return rests * 3 < differences_ns.size();
}

}  // namespace

Ticks ClockTicks::step(std::int64_t difference_ns) {
  constexpr auto kUnit = static_cast<double>(kNanosecond);
  const double ticks = ((static_cast<double>(difference_ns) + 0.5) * kUnit - static_cast<double>(fraction_)) /
                       static_cast<double>(tick_);
  Ticks result;
  if (std::abs(ticks) < 1e15)  // else all of it is rest
    result.ticks = static_cast<std::int64_t>(ticks + (ticks < 0 ? -0.5 : 0.5));
  ClockTicks next = *this;
  result.rest_ns = number(bits(difference_ns) - bits(next.step(result)));
  step(result);
  return result;
}

std::int64_t ClockTicks::step(const Ticks& ticks) {
  const std::int64_t to = time_of(ticks.ticks);
  fraction_ = to & (number(kNanosecond) - 1);
  if (ticks.rest_ns == 1 || ticks.rest_ns == -1)
    fraction_ -= ticks.rest_ns * (number(kNanosecond) - kNudge);
  else if (ticks.rest_ns != 0)
    fraction_ = number(kNanosecond) / 2;
  return number(bits(to >> kFractionBits) + bits(ticks.rest_ns));
}

std::uint64_t find_tick(std::span<const std::int64_t> differences_ns) {
  const std::span<const std::int64_t> first = differences_ns.first(std::min(differences_ns.size(), kMostSeen));
  const std::vector<double> shorts = shortest(first);
  if (shorts.size() < kFewestShort) return ClockTicks::kNanosecond;
  const std::vector<double> rungs = ladder(differences_ns);
  double step = 0;
  int tries = 0;
  for (double tick = kLongest; tick >= kShortest && tries < kMostTries; tick -= step) {
    step = 2 * kSlack * tick / shorts.back();  // so that a right one is passed within kSlack of each multiple
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < shorts.size() && wrong * 16 <= shorts.size(); ++i)
      wrong += !fits(shorts[i], tick, kRounding + kSlack);
    if (wrong * 16 > shorts.size()) continue;
    ++tries;
    const double exact = refined(tick, shorts, rungs);
    const auto found = static_cast<std::uint64_t>(std::llround(std::ldexp(exact, ClockTicks::kFractionBits)));
    if (holds(found, first)) return found;
  }
  return ClockTicks::kNanosecond;
}

}  // namespace spscope
