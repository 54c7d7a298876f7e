// KeptTrace: a TraceSink that keeps what it is given, for tests of what hands it over.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "backend/record/trace_sink.h"

namespace spscope {

class KeptTrace final : public TraceSink {
 public:
  struct KeptTrack {
    Track track;
    std::unique_ptr<EventRing> ring = {};  // none: only its losses are known
    std::vector<RingRecord> records = {};
    std::int64_t dropped = 0, unreadable = 0;  // by missed()
  };
  struct Kept {
    std::string name;
    RingRecord record;
  };
  // Numbers of names and details begin here, so that they are neither 0 nor those of another sink.
  static constexpr NameId kFirstName = 101;
  static constexpr WorkDetailId kFirstDetail = 201;

  // Rings have room for so many records; 0: for as many as they are asked for.
  explicit KeptTrace(std::size_t room = 0) : room_(room) {}

  EventRing& ring(const Track& track, std::size_t capacity) override {
    const std::lock_guard lock(mutex_);
    KeptTrack& kept = of(track);
    if (!kept.ring) kept.ring = std::make_unique<EventRing>(room_ == 0 ? capacity : room_);
    return *kept.ring;
  }
  NameId name(std::string_view text) override {
    return text.empty() ? 0 : kFirstName + number_of(names_, std::string(text));
  }
  WorkDetailId detail(const WorkDetail& what) override { return kFirstDetail + number_of(details_, what); }
  void missed(const Track& track, std::int64_t dropped, std::int64_t unreadable) override {
    const std::lock_guard lock(mutex_);
    KeptTrack& kept = of(track);
    kept.dropped += dropped;
    kept.unreadable += unreadable;
  }
  void set_clock(const ClockFit& fit) override {
    const std::lock_guard lock(mutex_);
    clocks_.push_back(fit);
  }

  // -- one thread, also while others push
  // Empties the rings.
  void take() {
    const std::lock_guard lock(mutex_);
    for (KeptTrack& kept : tracks_)
      if (kept.ring)
        for (auto waiting = kept.ring->waiting(); !waiting.empty(); waiting = kept.ring->waiting()) {
          kept.records.insert(kept.records.end(), waiting.begin(), waiting.end());
          kept.ring->release(waiting.size());
        }
  }
  // What is on tracks whose name begins so, track by track.
  std::vector<Kept> records(std::string_view track_name) {
    take();
    const std::lock_guard lock(mutex_);
    std::vector<Kept> found;
    for (const KeptTrack& kept : tracks_)
      if (kept.track.name.starts_with(track_name))
        for (const RingRecord& record : kept.records) found.push_back({name_of(record.span.name), record});
    return found;
  }
  // The same of counters.
  std::vector<CounterSample> samples(std::string_view track_name) {
    std::vector<CounterSample> samples;
    for (const Kept& kept : records(track_name)) samples.push_back(kept.record.counter());
    return samples;
  }
  // All that the ledgers of tracks whose name begins so would say.
  LedgerRecord ledger(std::string_view track_name = "") {
    take();
    const std::lock_guard lock(mutex_);
    LedgerRecord sum;
    for (const KeptTrack& kept : tracks_) {
      if (!kept.track.name.starts_with(track_name)) continue;
      sum.stored += std::ssize(kept.records);
      sum.dropped += kept.dropped + (kept.ring ? kept.ring->dropped() : 0);
      sum.unreadable += kept.unreadable;
      sum.sent += kept.dropped + kept.unreadable + (kept.ring ? kept.ring->sent() : 0);
    }
    return sum;
  }

  // -- when nobody hands anything over any more
  // With all their records, in the order in which they were made.
  const std::deque<KeptTrack>& tracks() {
    take();
    return tracks_;
  }
  std::string name_of(NameId id) const { return id == 0 ? "" : names_.at(id - kFirstName); }
  const WorkDetail& detail_of(WorkDetailId id) const { return details_.at(id - kFirstDetail); }
  const std::vector<std::string>& names() const { return names_; }
  const std::vector<WorkDetail>& details() const { return details_; }
  const std::vector<ClockFit>& clocks() const { return clocks_; }

 private:
  KeptTrack& of(const Track& track) {
    const auto known = std::ranges::find(tracks_, track, &KeptTrack::track);
    return known != tracks_.end() ? *known : tracks_.emplace_back(KeptTrack{.track = track});
  }
  template <typename Value>
  std::uint32_t number_of(std::vector<Value>& known, const Value& value) {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(known, value);
    const auto number = static_cast<std::uint32_t>(found - known.begin());
    if (found == known.end()) known.push_back(value);
    return number;
  }

  const std::size_t room_;
  mutable std::mutex mutex_;  // of what follows; what is in a ring needs none
  std::deque<KeptTrack> tracks_;
  std::vector<std::string> names_;
  std::vector<WorkDetail> details_;
  std::vector<ClockFit> clocks_;
};

}  // namespace spscope
