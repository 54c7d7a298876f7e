#include "backend/record/event_ring.h"

#include <algorithm>
#include <bit>

#include "backend/base/check.h"

namespace spscope {

EventRing::EventRing(std::size_t capacity, ReaderSleep* sleep)
    : mask_(std::bit_ceil(std::max<std::size_t>(1, capacity)) - 1),
      own_records_(std::make_unique<RingRecord[]>(mask_ + 1)),
      own_counters_(std::make_unique<RingCounters>()),
      records_(own_records_.get()),
      counters_(own_counters_.get()),
      sleep_(sleep) {}

EventRing::EventRing(RingCounters& counters, std::span<RingRecord> records, ReaderSleep* sleep)
    : mask_(records.size() - 1), records_(records.data()), counters_(&counters), sleep_(sleep) {
  SPSCOPE_CHECK(std::has_single_bit(records.size()));
}

}  // namespace spscope
