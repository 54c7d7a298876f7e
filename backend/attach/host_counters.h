// HostCounters: what GPUs of this host say of themselves while programs are attached (collector nvml), read once for
// all processes, by this one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <thread>

#include "backend/attach/attach.h"
#include "backend/record/rank_records.h"

namespace spscope {

class HostCounters {
 public:
  // Starts reading, with a shard of its own: on a thread, as NVML and CUDA's driver may take seconds for it. Where that
  // cannot be, it says why and does nothing. `windows`: when they are wanted; null: always. Throws: no thread can be
  // started.
  HostCounters(const CollectingNote& collection, const ClockFit& clock, std::shared_ptr<const CollectWindows> windows,
               const AttachSetup& setup);
  // As finish().
  ~HostCounters();
  HostCounters(const HostCounters&) = delete;
  HostCounters& operator=(const HostCounters&) = delete;

  // Ends reading, once it was started, and completes the shard. What the collector took, or why it did not collect. A
  // driver that does not answer for 5 s is left alone, with the thread that waits for it, which then says nothing more.
  CollectorRecord finish();
  // Of samples that the shard could not take, which its own ledger does not know. REQUIRES: finish() was called.
  const std::optional<IncidentRecord>& loss() const { return loss_; }
  std::int64_t lost() const { return lost_; }  // how many
  bool hangs() const { return hangs_; }        // the driver did not answer

 private:
  struct Work;
  std::optional<IncidentRecord> loss_;
  std::int64_t lost_ = 0;
  bool hangs_ = false;
  const std::shared_ptr<Work> work_;  // of the thread as well, which may outlive this
  std::thread thread_;
};

}  // namespace spscope
