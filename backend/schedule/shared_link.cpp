#include "backend/schedule/shared_link.h"

#include <algorithm>
#include <cmath>

namespace spscope {

// Sums of some thousand terms of up to a second carry errors far below the slack: a millionth of a nanosecond, and
// 1e-12 of the time itself. A quarter at most keeps whole numbers what they are.
std::int64_t whole_ns(double x) { return static_cast<std::int64_t>(std::ceil(x - std::min(0.25, 1e-6 + 1e-12 * x))); }

void SharedLink::add(std::int64_t now_ns, double service_ns, std::int32_t job) {
  settle(now_ns);
  if (jobs_.empty()) {
    busy_since_ns_ = now_ns;
    last_ns_ = virtual_ns_ = 0;
  }
  jobs_.push_back({virtual_ns_ + service_ns, job});
  std::push_heap(jobs_.begin(), jobs_.end());
}

void SharedLink::take_ended(std::int64_t now_ns, std::vector<std::int32_t>& jobs) {
  settle(now_ns);
  jobs.insert(jobs.end(), ended_.begin(), ended_.end());
  ended_.clear();
}

std::int64_t SharedLink::next_end_ns() const {
  const double left = (jobs_.front().ends_at - virtual_ns_) * static_cast<double>(jobs_.size());
  return busy_since_ns_ + whole_ns(last_ns_ + left);
}

// Brings virtual time to now, past every end on the way.
void SharedLink::settle(std::int64_t now_ns) {
  const auto now = static_cast<double>(now_ns - busy_since_ns_);
  while (!jobs_.empty()) {
    const auto sharers = static_cast<double>(jobs_.size());
    const double end = last_ns_ + (jobs_.front().ends_at - virtual_ns_) * sharers;
    if (whole_ns(end) > now_ns - busy_since_ns_) {
      virtual_ns_ += std::max(0.0, now - last_ns_) / sharers;
      break;
    }
    virtual_ns_ = jobs_.front().ends_at;
    last_ns_ = end;
    while (!jobs_.empty() && jobs_.front().ends_at == virtual_ns_) {
      ended_.push_back(jobs_.front().job);
      std::pop_heap(jobs_.begin(), jobs_.end());
      jobs_.pop_back();
    }
  }
  last_ns_ = std::max(last_ns_, now);
}

}  // namespace spscope
