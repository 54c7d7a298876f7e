#include "backend/launch/rank_clocks.h"

namespace spscope {

void store_clocks(StoreWriter& head, const RankWorld& world, std::int64_t zero_ns) {
  if (world.one_clock()) return;
  for (int rank = 0; rank < world.size(); ++rank) {
    const ClockOfRank& clock = world.clocks()[static_cast<std::size_t>(rank)];
    RankClock stored{rank, clock.fit};
    if (clock.same())
      stored.fit = {.raw_zero_ns = zero_ns};
    else
      stored.fit.offset_ns -= zero_ns;
    head.add_rank_clock(stored);
    if (clock.measured_by != rank || clock.same()) continue;
    std::vector<ClockSample> samples = clock.samples;
    for (ClockSample& sample : samples) sample.remote_ns -= zero_ns;
    head.replace_clock_samples(rank, samples);
  }
}

}  // namespace spscope
