#include "bench/gpu/clocks.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/base/error.h"

namespace spscope::gpu_check {

ClockWatch::ClockWatch() {
  const auto row = std::ranges::find(collectors(), "nvml", &CollectorRow::name);
  if (row->cannot_collect()) return;
  try {
    collector_ = row->start(trace_, {.devices = {0}});
  } catch (const Error&) {
    // The checks are worth more than their clocks.
  }
}

std::map<std::string, std::string> ClockWatch::end() {
  if (!collector_) return {};
  collector_->stop();
  std::map<std::string, std::string> seen;
  std::string reasons;
  for (const KeptTrace::KeptTrack& kept : trace_.tracks()) {
    constexpr std::string_view kReason = "low clocks: ", kFlag = " (0 or 1)";
    const std::string_view name = kept.track.name;
    std::vector<double> values;
    for (const RingRecord& record : kept.records) values.push_back(record.counter().value);
    if (values.empty()) continue;
    const auto [low, high] = std::ranges::minmax(values);
    if (name.ends_with("SM clock (MHz)")) seen["SM clock"] = fmt::format("{:.0f} to {:.0f} MHz", low, high);
    const std::size_t at = name.find(kReason);
    if (at == std::string_view::npos || !name.ends_with(kFlag) || high == 0) continue;
    const double share = static_cast<double>(std::ranges::count(values, 1.0)) / static_cast<double>(values.size());
    std::string_view reason = name.substr(at + kReason.size());
    reason.remove_suffix(kFlag.size());
    reasons +=
        fmt::format("{}{} in {:.0f} % of {} samples", reasons.empty() ? "" : ", ", reason, 100 * share, values.size());
  }
  if (!reasons.empty()) seen["low clocks"] = reasons;
  return seen;
}

}  // namespace spscope::gpu_check
