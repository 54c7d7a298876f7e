#include "gui/views/timeline/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace spscope::gui {
namespace {

constexpr double kLeastSpan = 20;  // ns on the screen

}  // namespace

void TimeAxis::set_extent(std::int64_t end_ns) {
  if (end_ns == extent_) return;
  const bool all = extent_ == 0 || shows_all();
  extent_ = end_ns;
  if (all) show_all();
}

void TimeAxis::show(double begin, double end) {
  const double most = std::max(kLeastSpan, static_cast<double>(extent_) * 1.02);
  const double span = std::clamp(end - begin, kLeastSpan, most);
  if (end - begin != span) {
    const double middle = (begin + end) / 2;
    begin = middle - span / 2;
  }
  begin_ = std::clamp(begin, 0.0, std::max(0.0, most - span));
  end_ = begin_ + span;
}

void TimeAxis::show_all() { show(0, static_cast<double>(extent_) * 1.02); }

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
  for (double t = std::ceil(begin_ / step) * step; t <= end_; t += step)
    ticks.push_back({t, fmt::format("{:.{}f} {}", t / unit.first, decimals, unit.second)});
  return ticks;
}

}  // namespace spscope::gui
