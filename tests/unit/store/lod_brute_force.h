// The definition of a pyramid's buckets, written out: one bucket at a time, over all events. And random tracks to try
// it on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "backend/base/rng.h"
#include "backend/store/pyramid/lod_pyramid.h"

namespace spscope::testing {

struct RandomEvents {
  int count = 100;
  int largest_bits = 12;  // of a duration or gap
  bool overlapping = false;
  bool unfinished = true;  // the last event may be
};

// Durations and gaps of 0 to 2^bits ns of all magnitudes; some instants, some events without a gap before.
inline std::vector<SpanEvent> random_events(Rng& rng, const RandomEvents& kind) {
  const auto any_ns = [&](std::int64_t one_in_zero) -> std::int64_t {
    if (rng.below(one_in_zero) == 0) return 0;
    return rng.below(std::int64_t{1} << (1 + rng.below(kind.largest_bits)));
  };
  std::vector<SpanEvent> events;
  std::int64_t now_ns = any_ns(4) * (rng.below(2) == 0 ? -3 : 1);
  for (int i = 0; i < kind.count; ++i) {
    now_ns += any_ns(3);
    SpanEvent event;
    event.begin_ns = now_ns;
    event.end_ns = now_ns + any_ns(5);
    event.op_id = rng.below(50) - 1;
    event.name = static_cast<NameId>(rng.below(9));
    event.flags = static_cast<std::uint32_t>(rng.below(kNumEventCategories));
    if (!kind.overlapping) now_ns = event.end_ns;
    events.push_back(event);
  }
  if (kind.unfinished && rng.below(3) == 0) {
    events.back().end_ns = kNeverEnded;
    events.back().flags |= kEventUnfinished;
  }
  return events;
}

inline std::int64_t last_moment(const std::vector<SpanEvent>& events) {
  std::int64_t last_ns = events.front().begin_ns;
  for (const SpanEvent& event : events)
    last_ns = std::max({last_ns, event.begin_ns, event.end_ns == kNeverEnded ? last_ns : event.end_ns});
  return last_ns + 77;
}

// Transfers as random_events() has events: of some the rank waited from its entry, which may lie outside of the span.
inline std::vector<CollectiveEvent> random_transfers(Rng& rng, const RandomEvents& kind) {
  std::vector<CollectiveEvent> transfers;
  for (const SpanEvent& span : random_events(rng, kind)) {
    CollectiveEvent& transfer = transfers.emplace_back();
    transfer.span = span;
    transfer.entry_ns = span.begin_ns + (rng.below(5) == 0 ? rng.below(9) - 4 : 0);
    transfer.transfer_begin_ns = transfer.entry_ns + rng.below(std::int64_t{1} << (1 + rng.below(kind.largest_bits)));
    if (rng.below(2) == 0 && span.end_ns != kNeverEnded)
      transfer.transfer_begin_ns = std::min(transfer.transfer_begin_ns, span.end_ns);
    transfer.transfer_end_ns = span.end_ns;
  }
  return transfers;
}

// What the waits of transfers change: that time counts as waiting instead of as the category of the event.
inline void count_waits(std::vector<LodBucket>& buckets, const std::vector<CollectiveEvent>& transfers, int shift,
                        std::int64_t first, std::int64_t until_ns) {
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const std::int64_t k = first + static_cast<std::int64_t>(i), low = k << shift, high = (k + 1) << shift;
    for (const CollectiveEvent& transfer : transfers) {
      const SpanEvent& span = transfer.span;
      const std::int64_t span_end = span.end_ns == kNeverEnded ? until_ns : span.end_ns;
      const std::int64_t from = std::max({low, span.begin_ns, transfer.entry_ns}),
                         to = std::min({high, span_end, transfer.transfer_begin_ns});
      if (from >= to) continue;
      buckets[i].busy_ns[6] += to - from;
      buckets[i].busy_ns[span.flags & 0xff] -= to - from;
    }
  }
}

inline std::vector<LodBucket> brute_force(const std::vector<SpanEvent>& events, int shift, std::int64_t first,
                                          std::int64_t end, std::int64_t until_ns) {
  std::vector<LodBucket> buckets;
  for (std::int64_t k = first; k < end; ++k) {
    const std::int64_t low = k << shift, high = (k + 1) << shift;
    LodBucket bucket;
    std::vector<SpanEvent> touching;
    for (const SpanEvent& event : events) {
      const std::int64_t b = event.begin_ns, e = event.end_ns == kNeverEnded ? until_ns : event.end_ns;
      if (low <= b && b < high) ++bucket.count;
      if ((b == e && low <= b && b < high) || (b < e && b < high && e > low)) touching.push_back(event);
      if (std::max(b, low) < std::min(e, high))
        bucket.busy_ns[event.flags & 0xff] += std::min(e, high) - std::max(b, low);
    }
    const auto key = [&](const SpanEvent& event) {
      const std::int64_t e = event.end_ns == kNeverEnded ? until_ns : event.end_ns;
      return std::tuple(-(e - event.begin_ns), event.begin_ns, event.op_id, event.name, event.flags);
    };
    std::sort(touching.begin(), touching.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
    if (!touching.empty()) bucket.longest = touching.front();
    buckets.push_back(bucket);
  }
  return buckets;
}

inline std::vector<std::uint8_t> brute_force_strip(const std::vector<LodBucket>& buckets, int shift) {
  std::vector<std::uint8_t> strip;
  for (const LodBucket& bucket : buckets) {
    std::int64_t sum_ns = 0, most_ns = 0;
    int category = 0;
    for (int c = 0; c < kNumEventCategories; ++c) {
      const std::int64_t ns = bucket.busy_ns[static_cast<std::size_t>(c)];
      sum_ns += ns;
      if (ns > most_ns) most_ns = ns, category = c;
    }
    int step = 0;
    while (step < 15 && step * (std::int64_t{1} << shift) < sum_ns * 15) ++step;  // the fifteenths that hold the sum
    strip.push_back(static_cast<std::uint8_t>(sum_ns == 0 ? 0 : category * 16 + step));
  }
  return strip;
}

}  // namespace spscope::testing
