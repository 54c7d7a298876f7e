#include "gui/views/timeline/time_part.h"

#include <array>

namespace spscope::gui {

TimePart part_of(EventCategory category, RowOf row) {
  static constexpr std::array<TimePart, kNumEventCategories> kParts = [] {
    std::array<TimePart, kNumEventCategories> parts{};
    const auto set = [&](EventCategory of, TimePart part) { parts[static_cast<std::size_t>(of)] = part; };
    parts.fill(TimePart::kOther);
    for (const EventCategory c : {EventCategory::kAttend, EventCategory::kLocal, EventCategory::kRearrange})
      set(c, TimePart::kCompute);
    for (const EventCategory c : {EventCategory::kTransfer, EventCategory::kBarrier}) set(c, TimePart::kWire);
    set(EventCategory::kLatePeer, TimePart::kLatePeer);
    set(EventCategory::kKernel, TimePart::kKernel);
    set(EventCategory::kCopy, TimePart::kCopy);
    set(EventCategory::kMemset, TimePart::kMemset);
    set(EventCategory::kSynchronize, TimePart::kSynchronize);
    set(EventCategory::kApi, TimePart::kApi);
    set(EventCategory::kOverhead, TimePart::kOverhead);
    set(EventCategory::kAnnotation, TimePart::kAnnotation);
    return parts;
  }();
  if (category == EventCategory::kLatePeer && row == RowOf::kTrack) return TimePart::kQueued;
  const auto index = static_cast<std::size_t>(category);
  return index < kParts.size() ? kParts[index] : TimePart::kOther;
}

std::string_view part_name(TimePart part) {
  static constexpr std::array<std::string_view, kNumTimeParts> kNames = {
      "compute", "late peer",   "wire", "other",    "kernel",     "copy",
      "memset",  "synchronize", "call", "overhead", "annotation", "queued"};
  return kNames[static_cast<std::size_t>(part)];
}

}  // namespace spscope::gui
