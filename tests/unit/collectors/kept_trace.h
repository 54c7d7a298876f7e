// A TraceSink that keeps what a collector sends, for tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "backend/record/trace_sink.h"

namespace spscope {

class KeptTrace final : public TraceSink {
 public:
  // Rings have room for `most` records at most.
  explicit KeptTrace(std::size_t most = std::size_t{1} << 20) : most_(most) {}

  EventRing& ring(const Track& track, std::size_t capacity) override {
    const std::lock_guard lock(mutex_);
    Source& source = of(track);
    if (!source.ring) source.ring = std::make_unique<EventRing>(std::min(capacity, most_));
    return *source.ring;
  }
  NameId name(std::string_view text) override {
    const std::lock_guard lock(mutex_);
    const auto [it, is_new] = ids_.try_emplace(std::string(text), static_cast<NameId>(names_.size()));
    if (is_new) names_.emplace_back(text);
    return it->second;
  }
  WorkDetailId detail(const WorkDetail&) override { return 0; }
  void missed(const Track& track, std::int64_t dropped, std::int64_t unreadable) override {
    const std::lock_guard lock(mutex_);
    Source& source = of(track);
    source.dropped += dropped;
    source.unreadable += unreadable;
  }
  void set_clock(const ClockFit&) override { ADD_FAILURE() << "times are on the raw clock"; }

  struct Kept {
    std::string name;
    RingRecord record;
  };
  // What is on tracks whose name begins so, by track; all that a track's ledger would say. Call when nobody pushes.
  std::vector<Kept> records(std::string_view track_name) {
    std::vector<Kept> found;
    for (Source& source : sources_) {
      drain(source);
      if (!source.track.name.starts_with(track_name)) continue;
      for (const RingRecord& record : source.stored) found.push_back({names_.at(record.span.name), record});
    }
    return found;
  }
  std::vector<Track> tracks() const {
    std::vector<Track> tracks;
    for (const Source& source : sources_) tracks.push_back(source.track);
    return tracks;
  }
  LedgerRecord ledger(std::string_view track_name) {
    LedgerRecord sum;
    for (Source& source : sources_) {
      drain(source);
      if (!source.track.name.starts_with(track_name)) continue;
      sum.stored += std::ssize(source.stored);
      sum.dropped += source.dropped + (source.ring ? source.ring->dropped() : 0);
      sum.unreadable += source.unreadable;
      sum.sent += source.dropped + source.unreadable + (source.ring ? source.ring->sent() : 0);
    }
    return sum;
  }

 private:
  struct Source {
    Track track;
    std::unique_ptr<EventRing> ring = {};  // none: only its losses are known
    std::vector<RingRecord> stored = {};
    std::int64_t dropped = 0, unreadable = 0;
  };
  Source& of(const Track& track) {
    for (Source& source : sources_)
      if (source.track == track) return source;
    sources_.push_back({.track = track});
    return sources_.back();
  }
  static void drain(Source& source) {
    if (!source.ring) return;
    for (auto waiting = source.ring->waiting(); !waiting.empty(); waiting = source.ring->waiting()) {
      source.stored.insert(source.stored.end(), waiting.begin(), waiting.end());
      source.ring->release(waiting.size());
    }
  }

  const std::size_t most_;
  std::mutex mutex_;
  std::deque<Source> sources_;
  std::map<std::string, NameId> ids_ = {{"", 0}};
  std::vector<std::string> names_ = {""};
};

}  // namespace spscope
