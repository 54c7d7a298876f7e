#include "backend/record/event_ring.h"

#include <algorithm>
#include <bit>

namespace spscope {

EventRing::EventRing(std::size_t capacity)
    : mask_(std::bit_ceil(std::max<std::size_t>(1, capacity)) - 1),
      records_(std::make_unique<RingRecord[]>(mask_ + 1)) {}

}  // namespace spscope
