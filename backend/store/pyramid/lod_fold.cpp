#include "backend/store/pyramid/lod_fold.h"

#include <algorithm>
#include <limits>

namespace spscope {

LodFold::LodFold(const LodRange& range, std::int64_t recorded_until_ns)
    : range_(range),
      recorded_until_ns_(recorded_until_ns),
      window_{.shift = range.shift, .first_bucket = range.first_bucket, .buckets = {}} {}

std::optional<std::int64_t> LodFold::horizon_ns() const {
  if (range_.last_bucket - window_.first_bucket < kLodWindow) return std::nullopt;
  return lod_begin_ns(window_.first_bucket + kLodWindow, range_.shift) - 1;
}

void LodFold::open(std::int64_t through_ns) {
  const std::int64_t end = window_.first_bucket + std::ssize(window_.buckets),
                     last = std::min(range_.last_bucket, lod_bucket(through_ns, range_.shift));
  if (last < end) return;
  LodLevel more{.shift = range_.shift, .first_bucket = end, .buckets = {}};
  more.buckets.resize(static_cast<std::size_t>(last - end + 1));
  add_events(more, beyond_, recorded_until_ns_);
  std::erase_if(beyond_, [&](const LodEvent& event) {
    return lod_last_bucket(event.span, range_.shift, recorded_until_ns_) <= last;
  });
  window_.buckets.insert(window_.buckets.end(), more.buckets.begin(), more.buckets.end());
}

void LodFold::add(std::span<const LodEvent> events) {
  add_events(window_, events, recorded_until_ns_);
  const std::int64_t last = window_.first_bucket + std::ssize(window_.buckets) - 1;
  if (last == range_.last_bucket) return;
  for (const LodEvent& event : events)
    if (lod_last_bucket(event.span, range_.shift, recorded_until_ns_) > last) beyond_.push_back(event);
}

std::vector<LodBucket> LodFold::close(std::int64_t through_ns) {
  const bool all = through_ns == std::numeric_limits<std::int64_t>::max();
  const std::int64_t end = all ? range_.last_bucket + 1 : lod_bucket(through_ns + 1, range_.shift);
  const auto complete = window_.buckets.begin() + static_cast<std::ptrdiff_t>(std::clamp<std::int64_t>(
                                                      end - window_.first_bucket, 0, std::ssize(window_.buckets)));
  std::vector<LodBucket> buckets(window_.buckets.begin(), complete);
  window_.buckets.erase(window_.buckets.begin(), complete);
  window_.first_bucket += std::ssize(buckets);
  return buckets;
}

}  // namespace spscope
