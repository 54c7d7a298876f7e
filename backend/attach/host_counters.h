// HostCounters: what GPUs of this host say of themselves while programs are attached (collector nvml), read once for
// all processes, by this one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "backend/attach/attach.h"
#include "backend/collect/shard_writer.h"
#include "backend/record/rank_records.h"
#include "collectors/collector.h"

namespace spscope {

class HostCounters {
 public:
  // Starts reading, with a shard of its own: on a thread, as NVML and CUDA's driver may take seconds for it. Where that
  // cannot be, it says why and does nothing. `windows`: when they are wanted; null: always. What it is given outlives
  // it.
  HostCounters(const CollectingNote& collection, const ClockFit& clock, const CollectWindows* windows,
               const AttachSetup& setup);
  ~HostCounters();
  HostCounters(const HostCounters&) = delete;
  HostCounters& operator=(const HostCounters&) = delete;

  // Ends reading, once it was started, and completes the shard. What the collector took, or why it did not collect.
  CollectorRecord finish();
  // Of samples that the shard could not take, which its own ledger does not know. REQUIRES: finish() was called.
  const std::optional<IncidentRecord>& loss() const { return loss_; }
  std::int64_t lost() const { return lost_; }  // how many

 private:
  void start(const CollectingNote& collection, const ClockFit& clock, const CollectWindows* windows,
             const std::string& tool_version);

  const AttachNotes on_note_;
  std::optional<IncidentRecord> loss_;
  std::int64_t lost_ = 0;
  std::unique_ptr<ShardWriter> shard_;
  std::unique_ptr<Collector> collector_;
  std::string why_not_;   // it could not be started; "": it was
  std::thread starting_;  // once it has ended, the three above are set
};

}  // namespace spscope
