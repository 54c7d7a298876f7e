#include "gui/views/timeline/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace spscope::gui {
namespace {

constexpr double kLeastSpan = 20;  // ns on the screen

}  // namespace

void TimeAxis::set_extent(std::int64_t first_ns, std::int64_t end_ns) {
  if (first_ns == first_ && end_ns == extent_) return;
  const bool all = extent_ == 0 || shows_all();
  first_ = first_ns;
  extent_ = end_ns;
  if (all) show_all();
}

double TimeAxis::whole_ns() const { return std::max(kLeastSpan, static_cast<double>(extent_ - first_) * 1.02); }

void TimeAxis::show(double begin, double end) {
  const double first = static_cast<double>(first_), most = whole_ns();
  const double span = std::clamp(end - begin, kLeastSpan, most);
  if (end - begin != span) {
    const double middle = (begin + end) / 2;
    begin = middle - span / 2;
  }
  begin_ = std::clamp(begin, first, first + std::max(0.0, most - span));
  end_ = begin_ + span;
}

void TimeAxis::show_all() { show(static_cast<double>(first_), static_cast<double>(first_) + whole_ns()); }

void TimeAxis::zoom(double factor, float x) {
  const double fixed = ns(x);
  show(fixed - (fixed - begin_) * factor, fixed + (end_ - fixed) * factor);
}

std::vector<TimeAxis::Tick> TimeAxis::ticks(float least_px) const {
  const double least = ns_per_pixel() * static_cast<double>(least_px);
  double step = std::pow(10, std::floor(std::log10(std::max(least, 1.0))));
  for (const double factor : {1.0, 2.0, 5.0, 10.0})
    if (step * factor >= least) {
      step *= factor;
      break;
    }
  constexpr std::array<std::pair<double, const char*>, 4> kUnits = {{{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}}};
  const auto& unit = *std::ranges::find_if(kUnits, [&](const auto& u) { return end_ >= u.first || u.first == 1; });
  const int decimals = std::clamp(static_cast<int>(std::ceil(-std::log10(step / unit.first) - 1e-9)), 0, 9);
  std::vector<Tick> ticks;
  for (double n = std::ceil(begin_ / step); n * step <= end_; ++n) {
    const double t = n * step + 0.0;  // never -0
    ticks.push_back({t, fmt::format("{:.{}f} {}", t / unit.first, decimals, unit.second)});
  }
  return ticks;
}

}  // namespace spscope::gui
