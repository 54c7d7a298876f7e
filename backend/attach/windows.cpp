#include "backend/attach/windows.h"

#include <algorithm>

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
}

void AttachWindows::add_ranges(const CollectWindows& process, std::int64_t end_ns) {
  if (!setup_.profiler_ranges) return;
  for (const CollectWindow& range : process.all()) ranges_.push_back({range.begin_ns, std::min(range.end_ns, end_ns)});
}

// What a process wrote may make no sense.
std::vector<CollectWindow> AttachWindows::until(std::int64_t end_ns) const {
  std::vector<CollectWindow> sorted = setup_.profiler_ranges ? ranges_ : own_->all();
  std::ranges::sort(sorted, {}, &CollectWindow::begin_ns);
  std::vector<CollectWindow> windows;
  for (const CollectWindow& window : sorted) {
    const std::int64_t last_ns = std::min(window.end_ns, end_ns);
    const CollectWindow inside = {std::max(window.begin_ns, zero_ns_) - zero_ns_,
                                  last_ns == CollectWindow::kOpen ? last_ns : last_ns - zero_ns_};
    if (inside.begin_ns >= inside.end_ns) continue;
    if (!windows.empty() && inside.begin_ns <= windows.back().end_ns)
      windows.back().end_ns = std::max(windows.back().end_ns, inside.end_ns);
    else
      windows.push_back(inside);
  }
  return windows;
}

}  // namespace spscope
