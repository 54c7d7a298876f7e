// MemorySink: a TraceSink that keeps everything, for tests of collectors.
#pragma once

#include <algorithm>
#include <deque>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend/record/trace_sink.h"

namespace spscope {

class MemorySink final : public TraceSink {
 public:
  struct Kept {
    Track track;
    EventRing ring;
    std::vector<RingRecord> records = {};
  };

  // Rings hold as much as a test pushes, since nobody takes it out meanwhile.
  EventRing& ring(const Track& track, std::size_t capacity) override {
    const std::lock_guard lock(mutex_);
    for (Kept& kept : kept_)
      if (kept.track == track) return kept.ring;
    return kept_.emplace_back(track, std::max<std::size_t>(capacity, std::size_t{1} << 16)).ring;
  }
  NameId name(std::string_view text) override { return number_of(names_, std::string(text)); }
  WorkDetailId detail(const WorkDetail& what) override { return number_of(details_, what); }
  void missed(const Track& /*track*/, std::int64_t dropped, std::int64_t unreadable) override {
    const std::lock_guard lock(mutex_);
    dropped_ += dropped;
    unreadable_ += unreadable;
  }
  void set_clock(const ClockFit& /*fit*/) override {}

  // Once nothing is pushed any more: every track with its records.
  const std::deque<Kept>& tracks() {
    for (Kept& kept : kept_)
      for (std::span<const RingRecord> waiting; !(waiting = kept.ring.waiting()).empty();) {
        kept.records.insert(kept.records.end(), waiting.begin(), waiting.end());
        kept.ring.release(waiting.size());
      }
    return kept_;
  }
  const std::string& name_of(NameId id) const { return names_.at(id - 1); }
  const WorkDetail& detail_of(WorkDetailId id) const { return details_.at(id - 1); }
  std::int64_t dropped() const { return dropped_; }
  std::int64_t unreadable() const { return unreadable_; }

 private:
  template <typename Value>
  std::uint32_t number_of(std::vector<Value>& known, const Value& value) {
    const std::lock_guard lock(mutex_);
    const auto found = std::find(known.begin(), known.end(), value);
    const auto number = static_cast<std::uint32_t>(found - known.begin()) + 1;
    if (found == known.end()) known.push_back(value);
    return number;
  }
  std::mutex mutex_;
  std::deque<Kept> kept_;
  std::vector<std::string> names_;
  std::vector<WorkDetail> details_;
  std::int64_t dropped_ = 0, unreadable_ = 0;
};

}  // namespace spscope
