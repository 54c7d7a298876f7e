#include "backend/record/collect_windows.h"

#include <algorithm>
#include <utility>

namespace spscope {

std::vector<CollectWindow> joined(std::vector<CollectWindow> windows, std::size_t most) {
  std::ranges::sort(windows, {}, &CollectWindow::begin_ns);
  // Those whose gap is less than `below_ns`, and the first `equal` whose gap equals it.
  const auto join = [&](std::int64_t below_ns, std::ptrdiff_t equal) {
    std::vector<CollectWindow> result;
    for (const CollectWindow& window : windows) {
      const std::int64_t gap_ns = result.empty() ? 0 : window.begin_ns - result.back().end_ns;
      if (!result.empty() && (gap_ns < below_ns || (gap_ns == below_ns && equal-- > 0)))
        result.back().end_ns = std::max(result.back().end_ns, window.end_ns);
      else
        result.push_back(window);
    }
    windows = std::move(result);
  };
  join(1, 0);
  if (windows.size() <= most) return windows;
  std::vector<std::int64_t> gaps;
  for (std::size_t i = 1; i < windows.size(); ++i) gaps.push_back(windows[i].begin_ns - windows[i - 1].end_ns);
  const auto too_many = static_cast<std::ptrdiff_t>(windows.size() - most);
  const auto widest = gaps.begin() + too_many - 1;
  std::ranges::nth_element(gaps, widest);
  const std::int64_t widest_ns = *widest;
  join(widest_ns, too_many - std::ranges::count_if(gaps, [&](std::int64_t gap_ns) { return gap_ns < widest_ns; }));
  return windows;
}

void CollectWindows::open(std::int64_t begin_ns) noexcept {
  const std::uint64_t number = number_.load(std::memory_order_relaxed);
  if (number > 0 && at(number - 1).end_ns == CollectWindow::kOpen) return;
  if (number - taken_.load(std::memory_order_acquire) >= kMost) {
    refused_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  Slot& slot = slots_[number % kMost];
  slot.begin_ns.store(begin_ns, std::memory_order_relaxed);
  slot.end_ns.store(0, std::memory_order_relaxed);
  number_.store(number + 1, std::memory_order_seq_cst);
}

void CollectWindows::close(std::int64_t end_ns) noexcept {
  const std::uint64_t number = number_.load(std::memory_order_relaxed);
  if (number == 0 || at(number - 1).end_ns != CollectWindow::kOpen) return;
  Slot& slot = slots_[(number - 1) % kMost];
  slot.end_ns.store(std::max(end_ns, slot.begin_ns.load(std::memory_order_relaxed)), std::memory_order_seq_cst);
}

CollectWindow CollectWindows::at(std::uint64_t number) const noexcept {
  const Slot& slot = slots_[number % kMost];
  const std::int64_t end_ns = slot.end_ns.load(std::memory_order_seq_cst);
  return {slot.begin_ns.load(std::memory_order_relaxed), end_ns == 0 ? CollectWindow::kOpen : end_ns};
}

// Events are new, so that one of the newest windows decides. CUPTI may hand over one that is older than all of these:
// it is kept.
bool CollectWindows::contains(std::int64_t time_ns) const noexcept {
  const std::uint64_t end = number();
  for (std::uint64_t back = 1; back <= std::min(end, kMost); ++back)
    if (const CollectWindow window = at(end - back); time_ns >= window.begin_ns) return time_ns < window.end_ns;
  return end > kMost;
}

std::optional<CollectWindow> CollectWindows::newest() const noexcept {
  const std::uint64_t end = number();
  return end == 0 ? std::nullopt : std::optional(at(end - 1));
}

void CollectWindows::take_ended(std::uint64_t& taken, std::vector<CollectWindow>& to) {
  const std::uint64_t end = number();
  for (taken = std::max(taken, end - std::min(end, kMost)); taken < end; ++taken) {
    const CollectWindow window = at(taken);
    if (window.end_ns == CollectWindow::kOpen) break;
    if (window.begin_ns >= 0 && window.end_ns > window.begin_ns) to.push_back(window);
  }
  taken_.store(taken, std::memory_order_release);
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
