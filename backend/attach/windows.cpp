#include "backend/attach/windows.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace spscope {

AttachWindows::AttachWindows(const WindowSetup& setup, std::int64_t zero_ns) : setup_(setup), zero_ns_(zero_ns) {
  if (!setup.is_timed) return;
  own_->open(zero_ns + setup.delay_ns);
  if (setup.duration_ns > 0) own_->close(zero_ns + setup.delay_ns + setup.duration_ns);
}

void AttachWindows::tell(CollectWindows& process) const {
  if (!setup_.is_used()) return;
  const std::optional<CollectWindow> newest = setup_.profiler_ranges ? std::nullopt : own_->newest();
  if (newest) process.open(newest->begin_ns);
  if (newest && newest->end_ns != CollectWindow::kOpen) process.close(newest->end_ns);
  process.set(setup_.profiler_ranges ? CollectWhen::kInProfilerRanges : CollectWhen::kInWindows);
}

bool AttachWindows::toggle(std::int64_t now_ns, std::span<const std::unique_ptr<Attachment>> processes) {
  const std::optional<CollectWindow> newest = own_->newest();
  const bool opens = !newest || newest->end_ns != CollectWindow::kOpen;
  const auto change = [&](CollectWindows& windows) {
    opens ? windows.open(now_ns + CollectWindows::kLeadNs) : windows.close(now_ns);
  };
  change(*own_);
  take_own();
  for (const std::unique_ptr<Attachment>& process : processes) {
    change(process->windows());
    process->wake();
  }
  return opens;
}

void AttachWindows::follow_ranges(std::int64_t now_ns, std::span<const std::unique_ptr<Attachment>> processes) {
  if (!setup_.profiler_ranges) return;
  const bool any = std::ranges::any_of(processes, [](const std::unique_ptr<Attachment>& process) {
    const std::optional<CollectWindow> newest = process->windows().newest();
    return newest && newest->end_ns == CollectWindow::kOpen;
  });
  any ? own_->open(now_ns) : own_->close(now_ns);
  take_own();
}

void AttachWindows::take_own() {
  std::vector<CollectWindow> ended;
  own_->take_ended(taken_, ended);
  if (!setup_.profiler_ranges && !ended.empty()) std::ranges::copy(ended, std::back_inserter(ended_));
  if (ended_.size() > 2 * CollectWindows::kMost) ended_ = joined(std::move(ended_), CollectWindows::kMost);
}

void AttachWindows::add(std::span<const CollectWindow> of_process) {
  if (!setup_.profiler_ranges) return;
  std::ranges::copy(of_process, std::back_inserter(ended_));
  ended_ = joined(std::move(ended_), CollectWindows::kMost);
}

// What a process wrote may make no sense.
std::vector<CollectWindow> AttachWindows::until(std::int64_t end_ns) const {
  std::vector<CollectWindow> windows = ended_;
  if (const std::optional<CollectWindow> newest = own_->newest(); newest && !setup_.profiler_ranges)
    windows.push_back(*newest);
  for (CollectWindow& window : windows) {
    window.begin_ns = std::max(window.begin_ns, zero_ns_) - zero_ns_;
    window.end_ns = std::min(window.end_ns, end_ns);
    if (window.end_ns != CollectWindow::kOpen) window.end_ns -= zero_ns_;
  }
  std::erase_if(windows, [](const CollectWindow& window) { return window.begin_ns >= window.end_ns; });
  return joined(std::move(windows), CollectWindows::kMost);
}

}  // namespace spscope
