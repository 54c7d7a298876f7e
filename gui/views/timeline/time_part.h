// What a moment of a row goes to: of a rank, as the parts of a makespan (backend/analysis/rank_times.h), or what a
// device and the calls of its programs did; and a pixel made of them.
#pragma once

#include <cstdint>
#include <string_view>

#include "backend/record/events.h"
#include "gui/ui/theme.h"

namespace spscope::gui {

// Compute, late peer, wire; what is none of them and of no category of devices is kOther. The first four have the
// places that parts of a makespan have in charts of reports.
enum class TimePart : std::uint8_t {
  kCompute = 0,
  kLatePeer = 1,
  kWire = 2,
  kOther = 3,
  kKernel = 4,
  kCopy = 5,
  kMemset = 6,
  kSynchronize = 7,
  kApi = 8,
  kOverhead = 9,
  kAnnotation = 10,
  kQueued = 11
};
inline constexpr int kNumRankParts = 4, kNumTimeParts = 12;

// What a row shows: the lanes of a rank, or a track that is none, as the operations of a communicator of NCCL.
enum class RowOf : std::uint8_t { kLanes, kTrack };

// Of a category that this program does not know: kOther.
TimePart part_of(EventCategory category, RowOf row);
// Of the time before an event could move data: lanes wait for partners that were late, operations that a collector saw
// in the queue of their device. Pyramids count both as EventCategory::kLatePeer.
inline TimePart wait_part(RowOf row) { return part_of(EventCategory::kLatePeer, row); }
constexpr bool is_wait(TimePart part) { return part == TimePart::kLatePeer || part == TimePart::kQueued; }
// "late peer", "kernel"
std::string_view part_name(TimePart part);

// A row as pixels: of each column, the part with most time in it and the share of the column that is busy.
struct PixelCell {
  TimePart part = TimePart::kOther;
  float busy = 0;  // 0 to 1; 0: nothing
};

}  // namespace spscope::gui
