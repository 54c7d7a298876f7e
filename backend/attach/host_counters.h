// HostCounters: what GPUs of this host say of themselves while programs are attached (collector nvml), read once for
// all processes, by this one.
#pragma once

#include <memory>
#include <optional>

#include "backend/attach/attach.h"
#include "backend/collect/shard_writer.h"
#include "backend/record/rank_records.h"
#include "collectors/collector.h"

namespace spscope {

class HostCounters {
 public:
  // Starts reading, with a shard of its own. Where that cannot be, it says why and does nothing.
  HostCounters(const CollectingNote& collection, const ClockFit& clock, const AttachSetup& setup);
  // Ends reading and completes the shard. What the collector took; none: it did not collect.
  std::optional<CollectorRecord> finish();

 private:
  const std::function<void(const std::string&)> on_note_;
  std::unique_ptr<ShardWriter> shard_;
  std::unique_ptr<Collector> collector_;
};

}  // namespace spscope
