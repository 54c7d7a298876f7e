#include "collectors/track_rows.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace spscope {
namespace {

// The reader of a ring looks every 2 ms; one that has not looked for so long has ended.
constexpr auto kNap = std::chrono::milliseconds(1);
constexpr int kPatience = 1000;  // naps

}  // namespace

// The ring counts what finds no room.
void TrackRows::push(EventRing& ring, const RingRecord& work) {
  for (int naps = 0; naps < kPatience && !reader_is_gone_ && !ring.has_room(); ++naps)
    std::this_thread::sleep_for(kNap);
  reader_is_gone_ = !ring.has_room();
  ring.push(work);
}

TrackRows::Row& TrackRows::row_for(const Held& work) {
  const auto first = static_cast<std::size_t>(std::clamp(work.first_row, 0, max_rows_));
  std::size_t at = first;
  while (at < static_cast<std::size_t>(max_rows_) && at < rows_.size() &&
         rows_[at].free_from_ns > work.work.span.begin_ns)
    ++at;
  if (at >= rows_.size()) rows_.resize(at + 1);
  Row& row = rows_[at];
  if (row.ring == nullptr) {
    Track track = track_;
    track.slot = static_cast<int>(at);
    track.overlapping = at == static_cast<std::size_t>(max_rows_);
    row.ring = &sink_.ring(track, kRingRecords);
  }
  return row;
}

void TrackRows::settle(std::int64_t ended_by_ns) {
  const auto later =
      std::partition(held_.begin(), held_.end(), [&](const Held& one) { return one.work.span.end_ns <= ended_by_ns; });
  // What holds others comes before them.
  std::sort(held_.begin(), later, [](const Held& a, const Held& b) {
    const SpanEvent &x = a.work.span, &y = b.work.span;
    return x.begin_ns != y.begin_ns ? x.begin_ns < y.begin_ns : x.end_ns > y.end_ns;
  });
  for (auto one = held_.begin(); one != later; ++one) {
    Row& row = row_for(*one);
    row.free_from_ns = next_begin_ns(one->work.span);
    one->work.span.flags |= event_flags({}, static_cast<int>(&row - rows_.data()));
    push(*row.ring, one->work);
  }
  held_.erase(held_.begin(), later);
}

}  // namespace spscope
