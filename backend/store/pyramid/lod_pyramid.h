// Level of detail: what a picture of a million events needs to know about a pixel. Time is cut into buckets
// [k 2^s, (k+1) 2^s) of a shift s; a bucket knows how many events begin in it, how long each category was busy in it,
// and the longest event that touches it. A picture draws the buckets of the smallest shift that is at least as wide as
// a pixel, and the events themselves once a bucket of the base shift exceeds 8 pixels.
//
// Counts, busy times and the longest event of a bucket follow exactly from those of its two halves; the category that
// leads does not, so it is never merged but taken from the sums. A strip is a level in one byte a bucket: which
// category leads and how busy.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "backend/record/events.h"

namespace spscope {

// An event as pyramids count it: in [wait_begin_ns, wait_end_ns) it could not move data yet. On lanes of ranks it
// waited for a late peer; on other tracks, as those of NCCL, it was in the queue of its device.
struct LodEvent {
  SpanEvent span;
  std::int64_t wait_begin_ns = 0, wait_end_ns = 0;  // within the span; equal: it did not wait, or nobody knows
};
// From the entry of the rank until data could move, as far as that is inside the span.
LodEvent lod_event(const CollectiveEvent& event);

struct LodBucket {
  std::int64_t count = 0;  // events that begin inside
  // Time inside the bucket by EventCategory; of overlapping tracks the sum, which may exceed the bucket. The wait of an
  // event counts as kLatePeer, whatever it waited for, the rest as its own category. Numbers of categories that this
  // program does not know count as kOther.
  std::array<std::int64_t, kNumEventCategories> busy_ns{};
  // Of the events that touch the bucket, the one that lasts longest, also outside of it; of equals the one with the
  // smallest (begin, op_id), then the smallest name and flags.
  std::optional<SpanEvent> longest;
  friend bool operator==(const LodBucket&, const LodBucket&) = default;
};

// Buckets first_bucket, first_bucket + 1, ... of one shift.
struct LodLevel {
  int shift = 0;
  std::int64_t first_bucket = 0;
  std::vector<LodBucket> buckets;
};

// Which buckets of a shift a track has; the last is not before the first.
struct LodRange {
  int shift = 0;
  std::int64_t first_bucket = 0, last_bucket = 0;
};

inline constexpr int kMaxLodShift = 62;
inline constexpr std::int64_t kEventsPerBaseBucket = 8;

// The bucket that holds a moment.
constexpr std::int64_t lod_bucket(std::int64_t time_ns, int shift) { return time_ns >> shift; }
// The first moment of a bucket, or the nearest one that is a number.
constexpr std::int64_t lod_begin_ns(std::int64_t bucket, int shift) {
  using Limits = std::numeric_limits<std::int64_t>;
  if (bucket > Limits::max() >> shift) return Limits::max();
  if (bucket < Limits::min() >> shift) return Limits::min();
  return bucket * (std::int64_t{1} << shift);
}

// The smallest shift that cuts [first_ns, last_ns] into at most num_events / 8 buckets, or into two: those may meet at
// zero, which is a border at every shift.
int lod_base_shift(std::int64_t num_events, std::int64_t first_ns, std::int64_t last_ns);

// The buckets of the base shift of so many events.
LodRange lod_base_range(std::int64_t num_events, std::int64_t first_ns, std::int64_t last_ns);
// The last bucket that an event touches.
std::int64_t lod_last_bucket(const SpanEvent& event, int shift, std::int64_t recorded_until_ns);

// Empty buckets of a shift over [first_ns, last_ns].
LodLevel make_lod_level(int shift, std::int64_t first_ns, std::int64_t last_ns);
// Adds events to the buckets they touch, in any order; what lies outside the level's buckets does not count.
// `recorded_until_ns` is where an unfinished event is taken to end.
void add_events(LodLevel& level, std::span<const SpanEvent> events, std::int64_t recorded_until_ns);
void add_events(LodLevel& level, std::span<const LodEvent> events, std::int64_t recorded_until_ns);
// Adds what is known of one half of a bucket, or of one part of its events.
void merge_bucket(LodBucket& sum, const LodBucket& part, std::int64_t recorded_until_ns);
// The buckets [first, end) of the level's shift or a wider one. What lies outside the level is empty.
std::vector<LodBucket> lod_answer(const LodLevel& level, int shift, std::int64_t first, std::int64_t end,
                                  std::int64_t recorded_until_ns);

// A bucket in one byte: category << 4 | busy, where busy is the time inside in fifteenths of the bucket, rounded up and
// at most 15, and the category is the one with most of it (of equals the smallest). 0: nothing that takes time.
std::uint8_t lod_strip_byte(const LodBucket& bucket, int shift);
std::vector<std::uint8_t> lod_strip(const LodLevel& level);

}  // namespace spscope
