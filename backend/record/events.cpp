#include "backend/record/events.h"

#include <cstddef>

namespace spscope {

std::string_view event_category_name(EventCategory category) {
  static constexpr std::string_view names[kNumEventCategories] = {
      "other",  "attend", "local",  "rearrange",   "transfer", "barrier",  "late_peer",
      "kernel", "copy",   "memset", "synchronize", "api",      "overhead", "annotation"};
  const auto number = static_cast<std::size_t>(category);
  return number < kNumEventCategories ? names[number] : names[0];
}

std::string_view track_kind_name(TrackKind kind) {
  static constexpr std::string_view names[kNumTrackKinds] = {"rank lane", "device stream", "host thread", "counter",
                                                             "foreign"};
  return names[static_cast<std::size_t>(kind)];
}

std::string track_text(const Track& track) {
  if (track.kind == TrackKind::kRankLane && track.rank && track.lane)
    return "rank " + std::to_string(*track.rank) + " lane " + std::to_string(*track.lane);
  std::string text = std::string(track_kind_name(track.kind)) + " " + track.name;
  if (track.device) text += " of " + *track.device;
  if (track.process) text += " of " + *track.process;
  if (track.rank) text += " of rank " + std::to_string(*track.rank);
  return text;
}

}  // namespace spscope
