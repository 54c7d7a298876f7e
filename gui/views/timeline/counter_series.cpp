#include "gui/views/timeline/counter_series.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "gui/launch/device_names.h"

namespace spscope::gui {
namespace {

void join(CounterPoint& sum, const CounterPoint& next) {
  sum.least = std::min(sum.least, next.least);
  sum.most = std::max(sum.most, next.most);
  sum.last = next.last;
}

}  // namespace

CounterName counter_name(const Track& track) {
  CounterName name{track.name, {}};
  // Names of tracks have no place.
  if (track.device)
    if (const std::string before = std::string(without_place(*track.device)) + " "; name.quantity.starts_with(before))
      name.quantity.erase(0, before.size());
  const std::size_t open = name.quantity.rfind(" (");
  // "(0 or 1)" says more than a unit.
  if (open == std::string::npos || open == 0 || !name.quantity.ends_with(')')) return name;
  const std::string unit = name.quantity.substr(open + 2, name.quantity.size() - open - 3);
  if (unit.empty() || unit.find(' ') != std::string::npos) return name;
  name.unit = unit;
  name.quantity.resize(open);
  return name;
}

CounterSeries::CounterSeries(std::span<const CounterSample> samples, std::size_t most_points) {
  const std::size_t per_point = (samples.size() + most_points - 1) / std::max<std::size_t>(1, most_points);
  std::vector<CounterPoint>& finest = levels_.emplace_back();
  std::size_t in_point = 0;
  for (const CounterSample& sample : samples) {
    if (!std::isfinite(sample.value)) continue;
    const CounterPoint point{sample.time_ns, sample.value, sample.value, sample.value};
    least_ = finest.empty() ? sample.value : std::min(least_, sample.value);
    most_ = finest.empty() ? sample.value : std::max(most_, sample.value);
    last_ns_ = sample.time_ns;
    if (finest.empty() || in_point == per_point) {
      finest.push_back(point);
      in_point = 1;
    } else {
      join(finest.back(), point);
      ++in_point;
    }
  }
  while (levels_.back().size() > 1) {
    std::vector<CounterPoint> wider;
    wider.reserve(levels_.back().size() / 2 + 1);
    for (std::size_t i = 0; i < levels_.back().size(); ++i) {
      const CounterPoint& point = levels_.back()[i];
      if (i % 2 == 0)
        wider.push_back(point);
      else
        join(wider.back(), point);
    }
    levels_.push_back(std::move(wider));
  }
}

std::span<const CounterPoint> CounterSeries::points(std::int64_t begin_ns, std::int64_t end_ns,
                                                    std::size_t most) const {
  for (const std::vector<CounterPoint>& level : levels_) {
    auto first = std::ranges::upper_bound(level, begin_ns, {}, &CounterPoint::time_ns);
    if (first != level.begin()) --first;
    const auto last = std::ranges::lower_bound(level, end_ns, {}, &CounterPoint::time_ns);
    if (first >= last) return {};
    const auto count = static_cast<std::size_t>(last - first);
    if (count <= std::max<std::size_t>(2, most)) return {&*first, count};
  }
  return {};
}

const CounterPoint* CounterSeries::at(std::int64_t ns) const {
  const std::vector<CounterPoint>& finest = levels_.front();
  const auto after = std::ranges::upper_bound(finest, ns, {}, &CounterPoint::time_ns);
  if (after == finest.begin() || ns > last_ns_) return nullptr;
  return &*std::prev(after);
}

}  // namespace spscope::gui
