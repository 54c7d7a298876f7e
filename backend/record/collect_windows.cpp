#include "backend/record/collect_windows.h"

#include <algorithm>

namespace spscope {

void CollectWindows::open(std::int64_t begin_ns) noexcept {
  const std::uint64_t number = number_.load(std::memory_order_relaxed);
  if (number > 0 && at(number - 1).end_ns == CollectWindow::kOpen) return;
  Slot& slot = slots_[number % kMost];
  slot.begin_ns.store(begin_ns, std::memory_order_relaxed);
  slot.end_ns.store(0, std::memory_order_relaxed);
  number_.store(number + 1, std::memory_order_release);
}

void CollectWindows::close(std::int64_t end_ns) noexcept {
  const std::uint64_t number = number_.load(std::memory_order_relaxed);
  if (number == 0 || at(number - 1).end_ns != CollectWindow::kOpen) return;
  Slot& slot = slots_[(number - 1) % kMost];
  slot.end_ns.store(std::max(end_ns, slot.begin_ns.load(std::memory_order_relaxed)), std::memory_order_release);
}

CollectWindow CollectWindows::at(std::uint64_t number) const noexcept {
  const Slot& slot = slots_[number % kMost];
  const std::int64_t end_ns = slot.end_ns.load(std::memory_order_acquire);
  return {slot.begin_ns.load(std::memory_order_relaxed), end_ns == 0 ? CollectWindow::kOpen : end_ns};
}

// Events are new, so that one of the newest windows decides.
bool CollectWindows::contains(std::int64_t time_ns) const noexcept {
  const std::uint64_t end = number();
  for (std::uint64_t back = 1; back <= std::min(end, kMost); ++back)
    if (const CollectWindow window = at(end - back); time_ns >= window.begin_ns) return time_ns < window.end_ns;
  return false;
}

std::optional<CollectWindow> CollectWindows::newest() const noexcept {
  const std::uint64_t end = number();
  return end == 0 ? std::nullopt : std::optional(at(end - 1));
}

std::vector<CollectWindow> CollectWindows::all() const {
  const std::uint64_t end = number();
  std::vector<CollectWindow> windows;
  for (std::uint64_t i = end - std::min(end, kMost); i < end; ++i) windows.push_back(at(i));
  return windows;
}

bool CollectWindows::need_events(std::int64_t now_ns) const noexcept {
  const std::optional<CollectWindow> window = newest();
  return window && now_ns >= window->begin_ns - kLeadNs && now_ns - kTailNs < window->end_ns;
}

std::int64_t CollectWindows::next_change_ns(std::int64_t now_ns) const noexcept {
  const std::optional<CollectWindow> window = newest();
  if (!window) return CollectWindow::kOpen;
  if (now_ns < window->begin_ns - kLeadNs) return window->begin_ns - kLeadNs;
  const bool will_end = window->end_ns != CollectWindow::kOpen && now_ns - kTailNs < window->end_ns;
  return will_end ? window->end_ns + kTailNs : CollectWindow::kOpen;
}

}  // namespace spscope
