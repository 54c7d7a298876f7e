#include "collectors/track_rows.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "backend/base/clock.h"

namespace spscope {
namespace {

// A reader looks every few milliseconds.
constexpr auto kNap = std::chrono::milliseconds(1);
constexpr std::int64_t kPatienceNs = 1'000'000'000;

}  // namespace

void RoomWait::for_room_in(EventRing& ring) {
  if (ring.has_room() || (abandoned_ != nullptr && !abandoned_->has_room())) return;
  abandoned_ = nullptr;
  const std::int64_t begin_ns = now_ns();
  while (!ring.has_room()) {
    if (now_ns() - begin_ns > kPatienceNs) {
      abandoned_ = &ring;
      return;
    }
    std::this_thread::sleep_for(kNap);
  }
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

std::int64_t TrackRows::memory_bytes() const {
  std::size_t bytes = held_.size() * sizeof(Held);
  for (const Row& row : rows_)
    if (row.ring != nullptr) bytes += row.ring->capacity() * sizeof(RingRecord);
  return static_cast<std::int64_t>(bytes);
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
    wait_->for_room_in(*row.ring);
    if (!row.ring->push(one->work)) ++num_refused_;
  }
  held_.erase(held_.begin(), later);
}

}  // namespace spscope
