// KeptTrace: a TraceSink that keeps what it is given, and memory that is shared with nobody, for tests of what lies
// between the two.
#pragma once

#include <sys/mman.h>

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/base/check.h"
#include "backend/record/shared_trace.h"
#include "backend/record/trace_sink.h"

namespace spscope::testing {

class SharedTraceMemory {
 public:
  SharedTraceMemory() {
    void* const memory = ::mmap(nullptr, sizeof(SharedTrace), PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    SPSCOPE_CHECK(memory != MAP_FAILED);
    trace_ = static_cast<SharedTrace*>(memory);
  }
  ~SharedTraceMemory() { ::munmap(trace_, sizeof(SharedTrace)); }
  SharedTraceMemory(const SharedTraceMemory&) = delete;
  SharedTraceMemory& operator=(const SharedTraceMemory&) = delete;
  SharedTrace& operator*() { return *trace_; }
  SharedTrace* operator->() { return trace_; }

 private:
  SharedTrace* trace_;
};

class KeptTrace final : public TraceSink {
 public:
  // Rings have this room, or what is asked for.
  explicit KeptTrace(std::size_t room = 0) : room_(room) {}

  EventRing& ring(const Track& track, std::size_t capacity) override {
    for (Kept& kept : tracks)
      if (kept.track == track) return *kept.ring;
    tracks.push_back({track, std::make_unique<EventRing>(room_ == 0 ? capacity : room_), {}, 0, 0});
    return *tracks.back().ring;
  }
  NameId name(std::string_view text) override {
    names.emplace_back(text);
    return static_cast<NameId>(100 + names.size());  // not those of the other side
  }
  WorkDetailId detail(const WorkDetail& what) override {
    details.push_back(what);
    return static_cast<WorkDetailId>(200 + details.size());
  }
  void missed(const Track& track, std::int64_t dropped, std::int64_t unreadable) override {
    for (Kept& kept : tracks)
      if (kept.track == track) kept.dropped += dropped, kept.unreadable += unreadable;
  }
  void set_clock(const ClockFit& fit) override { clocks.push_back(fit); }

  // Empties the rings.
  void take() {
    for (Kept& kept : tracks)
      for (auto waiting = kept.ring->waiting(); !waiting.empty(); waiting = kept.ring->waiting()) {
        kept.records.insert(kept.records.end(), waiting.begin(), waiting.end());
        kept.ring->release(waiting.size());
      }
  }

  struct Kept {
    Track track;
    std::unique_ptr<EventRing> ring;
    std::vector<RingRecord> records;
    std::int64_t dropped = 0, unreadable = 0;
  };
  std::deque<Kept> tracks;
  std::vector<std::string> names;  // the first has the number 101
  std::vector<WorkDetail> details;
  std::vector<ClockFit> clocks;

 private:
  const std::size_t room_;
};

}  // namespace spscope::testing
