// AttachWindows: when events of the processes of a program are wanted (--delay, --duration, --signal,
// --profiler-ranges), and telling it to them in the memory that they share with attach (record/collect_windows.h).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/attach/attachment.h"
#include "backend/attach/window_setup.h"
#include "backend/record/collect_windows.h"

namespace spscope {

class AttachWindows {
 public:
  // `zero_ns`: the begin of the program, which delay and duration count from, on the raw clock.
  AttachWindows(const WindowSetup& setup, std::int64_t zero_ns);

  // Of counters of the host; null: always.
  std::shared_ptr<const CollectWindows> of_host() const { return setup_.is_used() ? own_ : nullptr; }
  // Before a process has its memory.
  void tell(CollectWindows& process) const;
  // Opens a window in all processes, or closes the open one. Says whether one is open.
  bool toggle(std::int64_t now_ns, std::span<const std::unique_ptr<Attachment>> processes);
  // Counters of the host are wanted while a process is between cudaProfilerStart() and cudaProfilerStop().
  void follow_ranges(std::int64_t now_ns, std::span<const std::unique_ptr<Attachment>> processes);
  // Those of a process that has ended, or that attach no longer follows: they count where they are its ranges.
  void add(std::span<const CollectWindow> of_process);
  // On the run clock, which begins with the program, up to a moment of the raw clock; none where windows are not used.
  std::vector<CollectWindow> until(std::int64_t end_ns) const;

 private:
  void take_own();

  const WindowSetup setup_;
  const std::int64_t zero_ns_;
  const std::shared_ptr<CollectWindows> own_ = std::make_shared<CollectWindows>();
  std::uint64_t taken_ = 0;           // of own_
  std::vector<CollectWindow> ended_;  // ranges of processes, or those of own_ that have ended; 2 * kMost at most
};

}  // namespace spscope
