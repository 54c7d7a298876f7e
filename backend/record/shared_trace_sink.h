// SharedTraceSink: a TraceSink that leaves what it is given in memory that another process reads. It never waits for
// that process, and needs nothing of this one but memory: what finds no room is counted.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "backend/record/collector_cost.h"
#include "backend/record/shared_trace.h"
#include "backend/record/trace_sink.h"

namespace spscope {

class SharedTraceSink final : public TraceSink {
 public:
  // The memory holds zeros, and outlives this.
  explicit SharedTraceSink(SharedTrace& memory) : memory_(memory) {}

  // Less room than is asked for where many tracks share the memory. Throws Error (kCannotCollect): the memory has no
  // place for so many tracks.
  EventRing& ring(const Track& track, std::size_t capacity) override;
  // 0 when the log is full: each call is counted then, as one of an event.
  NameId name(std::string_view text) override;
  WorkDetailId detail(const WorkDetail& what) override;
  void missed(const Track& track, std::int64_t dropped, std::int64_t unreadable) override;
  void set_clock(const ClockFit& fit) override;
  void claim_rank(const RankClaim& claim) override;

  // A collector that was started; its number, or none where there are too many.
  std::optional<std::uint32_t> collector(std::string_view name);
  // One that could not be started; its number is for notes alone.
  std::optional<std::uint32_t> not_started(std::string_view name);
  // What it took until now, or in all.
  void set_cost(std::uint32_t collector, const CollectorCost& cost, bool has_ended) noexcept;
  // What is not collected, and why, for whoever reads: by a collector, or since one could not be started.
  void note(std::string_view text, std::optional<std::uint32_t> collector = {});

 private:
  struct Made {
    Track track;
    std::unique_ptr<EventRing> ring;
  };
  // All with the mutex held.
  std::optional<std::uint32_t> add_collector(SharedTrace::Entry entry, std::string_view name);
  std::size_t place_of(const Track& track, std::size_t capacity);
  bool append(SharedTrace::Entry entry, std::span<const std::uint8_t> head, std::string_view text = {},
              std::string_view more = {});

  SharedTrace& memory_;
  std::mutex mutex_;  // of what follows
  std::vector<Made> tracks_;
  std::uint32_t num_collectors_ = 0;
  std::size_t used_records_ = 0;
  std::unordered_map<std::string, NameId> names_;
  std::map<WorkDetail, WorkDetailId> details_;
};

}  // namespace spscope
