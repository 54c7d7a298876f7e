// TraceOutput: brings what Watch holds to a TraceSink. One thread calls it.
//
// A communicator has a track for this rank, named by its hash, which is the same on all of its ranks:
// "NCCL 0x00f3a2b1c4d5e6f7 rank 3 of 8 (name)". Its kind is kForeign and it may overlap: an operation begins with its
// call on the host, which runs ahead of the device, so that several are under way at a time, and it is no queue of the
// device whose idle time means anything. The device's part begins with the begin of the transfer.
//
// Calls are on a track for each thread. The error of the times of a device is a counter beside the communicator.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "collectors/collector.h"
#include "collectors/nccl/gpu_clock.h"
#include "collectors/nccl/watch.h"

namespace spscope::nccl {

struct OutputCounts {
  std::int64_t records = 0;          // for which a ring had room
  std::int64_t dropped = 0;          // by rings, or for which there was no place
  std::int64_t given_up = 0;         // operations that were handed over without the end of all their children
  std::int64_t enqueued_only = 0;    // operations of copy engines
  std::int64_t without_device = 0;   // operations whose channels had no times of the device
  std::int64_t worst_error_ns = -1;  // of the times of a device; -1: not known
};

class TraceOutput {
 public:
  TraceOutput(TraceSink& sink, const CollectedProcess& process);
  // Hands over what has ended; the last time, also what has not. Throws what the sink throws.
  void take(Watch& watch, bool last, std::int64_t now_ns);
  const OutputCounts& counts() const { return counts_; }
  std::int64_t memory_bytes() const { return num_rows_ * static_cast<std::int64_t>(sizeof(Row)); }

 private:
  struct Row {  // of Communicators
    std::uint64_t use = 0;
    bool has_told_rank = false;
    Track track;
    EventRing* ring = nullptr;
    EventRing* error_ring = nullptr;
    std::int64_t error_stored_ns = 0;
    GpuClock clock;
  };
  void put(const Operation& operation, Row& row, bool last, std::int64_t now_ns);
  void put(const EndedCall& call);
  void put_error(Row& row, std::int64_t now_ns);
  Row& row_of(const Communicators::State& state);
  void tell_rank(const Communicators::State& state);
  EventRing& thread_ring(int thread);
  NameId name(const std::string& text);
  void push(EventRing& ring, const RingRecord& record);

  TraceSink& sink_;
  const CollectedProcess process_;
  std::vector<std::int64_t> removed_ns_;    // by row, as of the last take()
  std::vector<std::unique_ptr<Row>> rows_;  // made as they are used
  std::int64_t num_rows_ = 0;
  std::map<int, EventRing*> threads_;
  std::map<std::string, NameId> names_;
  std::int64_t calls_dropped_ = 0;
  OutputCounts counts_;
};

}  // namespace spscope::nccl
