#include "backend/store/pyramid/lod_pyramid.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "backend/base/check.h"

namespace spscope {

namespace {

constexpr std::int64_t kMaxNs = std::numeric_limits<std::int64_t>::max();

// Sums of times that a file claims may exceed what a number holds.
void add_ns(std::int64_t& sum, std::uint64_t ns) {
  const auto room = static_cast<std::uint64_t>(kMaxNs - sum);
  sum += static_cast<std::int64_t>(std::min(ns, room));
}

std::int64_t end_of(const SpanEvent& event, std::int64_t recorded_until_ns) {
  const std::int64_t end_ns = event.end_ns == kNeverEnded ? recorded_until_ns : event.end_ns;
  return std::max(event.begin_ns, end_ns);
}

std::uint64_t length_of(const SpanEvent& event, std::int64_t recorded_until_ns) {
  return static_cast<std::uint64_t>(end_of(event, recorded_until_ns)) - static_cast<std::uint64_t>(event.begin_ns);
}

// Whether `a` is the one to show rather than `b`.
bool longer(const SpanEvent& a, const SpanEvent& b, std::int64_t recorded_until_ns) {
  const std::uint64_t length_a = length_of(a, recorded_until_ns), length_b = length_of(b, recorded_until_ns);
  if (length_a != length_b) return length_a > length_b;
  return std::tie(a.begin_ns, a.op_id, a.name, a.flags) < std::tie(b.begin_ns, b.op_id, b.name, b.flags);
}

void offer(std::optional<SpanEvent>& longest, const SpanEvent& event, std::int64_t recorded_until_ns) {
  if (!longest || longer(event, *longest, recorded_until_ns)) longest = event;
}

std::size_t category_of(const SpanEvent& event) {
  const auto category = static_cast<std::size_t>(event_category(event.flags));
  return category < kNumEventCategories ? category : 0;
}

// The last nanosecond of a bucket: unlike its end, always a number.
std::int64_t last_ns_of(std::int64_t bucket, int shift) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(bucket) << shift | ((std::uint64_t{1} << shift) - 1));
}

// An instant takes no time and touches the bucket that it is in.
std::int64_t last_ns_of(const SpanEvent& event, std::int64_t end_ns) {
  return end_ns > event.begin_ns ? end_ns - 1 : end_ns;
}

const SpanEvent& span_of(const SpanEvent& event) { return event; }
const SpanEvent& span_of(const LodEvent& event) { return event.span; }

// How much of the nanoseconds first to last, both included, the event waited.
std::uint64_t wait_inside(const SpanEvent&, std::int64_t, std::int64_t) { return 0; }
std::uint64_t wait_inside(const LodEvent& event, std::int64_t first_ns, std::int64_t last_ns) {
  if (event.wait_begin_ns >= event.wait_end_ns) return 0;
  const std::int64_t from = std::max(event.wait_begin_ns, first_ns), last = std::min(event.wait_end_ns - 1, last_ns);
  return from > last ? 0 : static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(from) + 1;
}

template <typename Event>
void add_event(LodLevel& level, const Event& counted, std::int64_t recorded_until_ns) {
  const SpanEvent& event = span_of(counted);
  const std::int64_t last_bucket = level.first_bucket + std::ssize(level.buckets) - 1;
  const std::int64_t end_ns = end_of(event, recorded_until_ns);
  const std::int64_t begin_bucket = lod_bucket(event.begin_ns, level.shift);
  const std::int64_t last_ns = last_ns_of(event, end_ns);
  const auto at = [&](std::int64_t bucket) -> LodBucket& {
    return level.buckets[static_cast<std::size_t>(bucket - level.first_bucket)];
  };
  if (level.first_bucket <= begin_bucket && begin_bucket <= last_bucket) ++at(begin_bucket).count;
  const std::int64_t from = std::max(begin_bucket, level.first_bucket),
                     to = std::min(lod_bucket(last_ns, level.shift), last_bucket);
  const std::size_t category = category_of(event);
  for (std::int64_t k = from; k <= to; ++k) {
    LodBucket& bucket = at(k);
    offer(bucket.longest, event, recorded_until_ns);
    if (end_ns == event.begin_ns) continue;
    const std::int64_t first_inside = std::max(event.begin_ns, lod_begin_ns(k, level.shift)),
                       last_inside = std::min(last_ns, last_ns_of(k, level.shift));
    const std::uint64_t wait_ns = wait_inside(counted, first_inside, last_inside);
    add_ns(bucket.busy_ns[static_cast<std::size_t>(EventCategory::kLatePeer)], wait_ns);
    add_ns(bucket.busy_ns[category],
           static_cast<std::uint64_t>(last_inside) - static_cast<std::uint64_t>(first_inside) + 1 - wait_ns);
  }
}

}  // namespace

LodEvent lod_event(const CollectiveEvent& event) {
  const SpanEvent& span = event.span;
  const std::int64_t begin_ns = std::max(event.entry_ns, span.begin_ns),
                     end_ns = std::min(event.transfer_begin_ns, span.end_ns);
  if (begin_ns >= end_ns) return {.span = span};
  return {.span = span, .wait_begin_ns = begin_ns, .wait_end_ns = end_ns};
}

int lod_base_shift(std::int64_t num_events, std::int64_t first_ns, std::int64_t last_ns) {
  SPSCOPE_CHECK(first_ns <= last_ns);
  const auto most = static_cast<std::uint64_t>(std::max<std::int64_t>(2, num_events / kEventsPerBaseBucket));
  int shift = 0;
  while (shift < kMaxLodShift && static_cast<std::uint64_t>(lod_bucket(last_ns, shift)) -
                                         static_cast<std::uint64_t>(lod_bucket(first_ns, shift)) >=
                                     most)
    ++shift;
  return shift;
}

LodRange lod_base_range(std::int64_t num_events, std::int64_t first_ns, std::int64_t last_ns) {
  const int shift = lod_base_shift(num_events, first_ns, last_ns);
  return {.shift = shift, .first_bucket = lod_bucket(first_ns, shift), .last_bucket = lod_bucket(last_ns, shift)};
}

std::int64_t lod_last_bucket(const SpanEvent& event, int shift, std::int64_t recorded_until_ns) {
  return lod_bucket(last_ns_of(event, end_of(event, recorded_until_ns)), shift);
}

LodLevel make_lod_level(int shift, std::int64_t first_ns, std::int64_t last_ns) {
  SPSCOPE_CHECK(0 <= shift && shift <= kMaxLodShift && first_ns <= last_ns);
  LodLevel level{.shift = shift, .first_bucket = lod_bucket(first_ns, shift), .buckets = {}};
  level.buckets.resize(static_cast<std::size_t>(lod_bucket(last_ns, shift) - level.first_bucket + 1));
  return level;
}

void add_events(LodLevel& level, std::span<const SpanEvent> events, std::int64_t recorded_until_ns) {
  for (const SpanEvent& event : events) add_event(level, event, recorded_until_ns);
}

void add_events(LodLevel& level, std::span<const LodEvent> events, std::int64_t recorded_until_ns) {
  for (const LodEvent& event : events) add_event(level, event, recorded_until_ns);
}

void merge_bucket(LodBucket& sum, const LodBucket& part, std::int64_t recorded_until_ns) {
  sum.count += part.count;
  for (std::size_t c = 0; c < part.busy_ns.size(); ++c)
    add_ns(sum.busy_ns[c], static_cast<std::uint64_t>(part.busy_ns[c]));
  if (part.longest) offer(sum.longest, *part.longest, recorded_until_ns);
}

std::vector<LodBucket> lod_answer(const LodLevel& level, int shift, std::int64_t first, std::int64_t end,
                                  std::int64_t recorded_until_ns) {
  SPSCOPE_CHECK(level.shift <= shift && shift <= kMaxLodShift && first <= end);
  std::vector<LodBucket> answer(static_cast<std::size_t>(end - first));
  const int finer = shift - level.shift;
  const std::int64_t level_end = level.first_bucket + std::ssize(level.buckets);
  const std::int64_t from = std::clamp(lod_begin_ns(first, finer), level.first_bucket, level_end),
                     to = std::clamp(lod_begin_ns(end, finer), level.first_bucket, level_end);
  for (std::int64_t k = from; k < to; ++k)
    merge_bucket(answer[static_cast<std::size_t>((k >> finer) - first)],
                 level.buckets[static_cast<std::size_t>(k - level.first_bucket)], recorded_until_ns);
  return answer;
}

std::uint8_t lod_strip_byte(const LodBucket& bucket, int shift) {
  constexpr int kFull = 15;
  std::int64_t busy_ns = 0;
  for (const std::int64_t ns : bucket.busy_ns) add_ns(busy_ns, static_cast<std::uint64_t>(ns));
  if (busy_ns == 0) return 0;
  const auto most = std::max_element(bucket.busy_ns.begin(), bucket.busy_ns.end()) - bucket.busy_ns.begin();
  const double steps = std::ceil(static_cast<double>(busy_ns) * kFull / static_cast<double>(std::uint64_t{1} << shift));
  return static_cast<std::uint8_t>(most << 4 | static_cast<int>(std::clamp(steps, 1.0, double{kFull})));
}

std::vector<std::uint8_t> lod_strip(const LodLevel& level) {
  std::vector<std::uint8_t> strip;
  strip.reserve(level.buckets.size());
  for (const LodBucket& bucket : level.buckets) strip.push_back(lod_strip_byte(bucket, level.shift));
  return strip;
}

}  // namespace spscope
