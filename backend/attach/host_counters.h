// HostCounters: what GPUs of this host say of themselves while programs are attached (collector nvml), read once for
// all processes, by this one.
#pragma once

#include <future>
#include <memory>
#include <optional>

#include "backend/attach/attach.h"
#include "backend/collect/shard_writer.h"
#include "backend/record/rank_records.h"
#include "collectors/collector.h"

namespace spscope {

class HostCounters {
 public:
  // Starts reading, with a shard of its own, on a thread: NVML may take seconds to start, and processes wait for
  // answers meanwhile. Where that cannot be, it says why and does nothing. What is given outlives this.
  HostCounters(const CollectingNote& collection, const ClockFit& clock, const AttachSetup& setup);
  // Ends reading and completes the shard. What the collector took; none: it did not collect.
  std::optional<CollectorRecord> finish();

 private:
  void start(const CollectingNote& collection, const ClockFit& clock, const AttachSetup& setup);

  const std::function<void(const std::string&)> on_note_;
  std::unique_ptr<ShardWriter> shard_;
  std::unique_ptr<Collector> collector_;
  std::future<void> started_;  // of what is above; last, so that it is waited for first
};

}  // namespace spscope
